// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.planning

import java.lang.management.ManagementFactory
import java.nio.file.Paths

import scala.jdk.CollectionConverters._
import scala.util.Using

import zonemap.benchmarks.planning.PlanningMatrix.Measured

/** Plans one query once in a separate process. Usage: `FreshJvm <table> <files> <columns> <query> <stock|index>` */
object FreshJvm {

  def main(arguments: Array[String]): Unit = {
    val Array(location, files, columns, query, side) = arguments
    val io = new RemoteFileIO(0)
    val opened = new OpenedTable(location, MatrixTables.Indexed, io)
    val asked = PlanningMatrix.queries(AtlasTable(files.toInt, columns.toInt, commits = 1))(query.toInt)
    io.traffic(): Unit
    val (planned, run) =
      Measure.run(PlanningMatrix.count(if (side == "stock") opened.stockScan() else opened.indexScan(), asked))
    val traffic = io.traffic()
    println(
      s"measured ${run.wallMillis} ${run.cpuMillis} ${run.allocatedBytes} ${traffic.requests} ${traffic.bytes} $planned")
  }

  /** Starts a JVM with the options of this one, waits for its end, and returns its measurements. */
  def run(table: String, files: Int, columns: Int, query: Int, side: String): Measured = {
    val launcher = Paths.get(System.getProperty("java.home"), "bin", "java").toString
    val options = ManagementFactory.getRuntimeMXBean.getInputArguments.asScala
    val command = Seq(launcher) ++ options ++
      Seq("-cp", System.getProperty("java.class.path"), "zonemap.benchmarks.planning.FreshJvm", table) ++
      Seq(files.toString, columns.toString, query.toString, side)
    val process = new ProcessBuilder(command.asJava).redirectError(ProcessBuilder.Redirect.DISCARD).start()
    val lines = Using.resource(scala.io.Source.fromInputStream(process.getInputStream))(_.getLines().toList)
    require(process.waitFor() == 0, s"a plan in a JVM of its own failed: $side of $table")
    val figures = lines.find(_.startsWith("measured ")).get.split(' ').tail
    Measured(
      Run(figures(0).toDouble, figures(1).toDouble, figures(2).toLong),
      Some(Traffic(figures(3).toLong, figures(4).toLong)),
      figures(5).toInt)
  }
}
