// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.faults

import java.nio.file.{Path, Paths}
import java.util.concurrent.TimeUnit

import scala.jdk.CollectionConverters._

import zonemap.iceberg.testing.TestProcess

/**
 * A JVM of its own that works on the store of a folder and halts at the n-th call, in the middle of a write if the call
 * is a write, without any code that runs at an orderly end.
 */
object HaltedProcess {
  private val Halted = 9

  /** The arguments are the folder, the work, and the call at which the process halts. */
  def main(arguments: Array[String]): Unit = {
    implicit val process: TestProcess = new TestProcess
    val Array(folder, work, call) = arguments
    val io = new FaultyFileIO(Paths.get(folder), () => Runtime.getRuntime.halt(Halted))
    io.arm(call.toInt, Fault.Halt)
    StoreWork.named(work).run(new FaultedTable(io))
    Runtime.getRuntime.exit(0)
  }

  /** Runs the work in a new JVM; returns whether it halted at the call. */
  def run(folder: Path, work: StoreWork, call: Int): Boolean = {
    val executable = Paths.get(sys.props("java.home"), "bin", "java").toString
    val options = Seq("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Duser.timezone=UTC")
    val opens = java.lang.management.ManagementFactory.getRuntimeMXBean.getInputArguments.asScala
      .filter(_.startsWith("--add-opens"))
    val command = (executable +: options) ++ opens ++
      Seq(
        "-cp",
        sys.props("java.class.path"),
        getClass.getName.stripSuffix("$"),
        folder.toString,
        work.name,
        call.toString)
    val log = folder.resolveSibling(s"${folder.getFileName}.log").toFile
    val child = new ProcessBuilder(command.asJava).redirectErrorStream(true).redirectOutput(log).start()
    try {
      require(child.waitFor(120, TimeUnit.SECONDS), s"$command did not end")
      val code = child.exitValue()
      require(code == 0 || code == Halted, s"$command ended with $code, see $log")
      code == Halted
    } finally child.destroyForcibly(): Unit
  }
}
