// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.part

import java.net.URLClassLoader
import java.nio.file.Files

import zonemap.iceberg.testing.LoggedWarnings
import zonemap.spark.SharedSession
import zonemap.spark.metrics.QueryRuns
import zonemap.spark.scan.SparkProcess

/** Parts that a class path names. */
class ZoneMapPartTest extends SharedSession {

  /** The parts of a class path with a file of services of these lines, and the warnings about them. */
  private def found(lines: String*): (Seq[ZoneMapPart], Seq[String]) = {
    val folder = Files.createTempDirectory("parts")
    val services = Files.createDirectories(folder.resolve("META-INF/services"))
    Files.writeString(services.resolve(classOf[ZoneMapPart].getName), lines.mkString("\n"))
    val thread = Thread.currentThread()
    val before = thread.getContextClassLoader
    thread.setContextClassLoader(new URLClassLoader(Array(folder.toUri.toURL), before))
    try {
      var parts = Seq.empty[ZoneMapPart]
      val warnings = LoggedWarnings.of("zonemap") { parts = ZoneMapPart.find() }
      (parts, warnings)
    } finally thread.setContextClassLoader(before)
  }

  test("the parts that the thread's loader finds; one that does not load is a warning, and the others are there") {
    val (parts, warnings) = found(classOf[Unloadable].getName, classOf[Plain].getName)
    assert(parts.map(_.getClass) == Seq(classOf[Plain]))
    assert(warnings.count(_.contains("Cannot load a part of zonemap")) == 1, warnings)
  }

  test("a part of another version does not start, and the others do") {
    var started = Seq.empty[StartedPart]
    val warnings = LoggedWarnings.of("zonemap") {
      started = ZoneMapPart.started(Seq(new OfAnotherVersion, new Plain), runtime.process, runtime.runs)
    }
    assert(started.size == 1 && started.head.procedures.isEmpty)
    assert(warnings.count(_.contains("Cannot start a part of zonemap")) == 1, warnings)
  }
}

final class Plain extends ZoneMapPart {
  override def start(process: SparkProcess, runs: QueryRuns): StartedPart = new StartedPart {}
}

final class Unloadable extends ZoneMapPart {
  throw new NoSuchMethodError("planted")
  override def start(process: SparkProcess, runs: QueryRuns): StartedPart = new StartedPart {}
}

final class OfAnotherVersion extends ZoneMapPart {
  override def start(process: SparkProcess, runs: QueryRuns): StartedPart = throw new NoSuchMethodError("planted")
}
