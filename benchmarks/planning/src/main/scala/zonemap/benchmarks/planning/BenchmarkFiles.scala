// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.planning

import java.nio.file.{Files, Path}
import java.util.{Comparator, Map => JMap}

import scala.util.Using

import com.fasterxml.jackson.databind.{ObjectMapper, SerializationFeature}

/** The files of a benchmark suite: its work folder and its result. */
object BenchmarkFiles {

  def deleteTree(folder: Path): Unit =
    if (Files.exists(folder))
      Using.resource(Files.walk(folder))(_.sorted(Comparator.reverseOrder[Path]()).forEach(p => Files.delete(p)))

  /** Writes a result as JSON, with its keys in order. */
  def write(result: Path, document: JMap[String, Any]): Unit = {
    Files.createDirectories(result.toAbsolutePath.getParent)
    new ObjectMapper()
      .enable(SerializationFeature.INDENT_OUTPUT)
      .enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS)
      .writeValue(result.toFile, document)
    println(s"written: $result")
  }
}
