package zonemap.ingest.kafka

import java.nio.file.Files

import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.testing.LoggedWarnings
import zonemap.ingest.FaultyFiles
import zonemap.ingest.store.IngestFiles

/** Marks of settled offsets in stores that show a file before its end, and that refuse deletions. */
class SettledMarksTest extends AnyFunSuite {
  private val Queue = "queue"

  private def root(): FaultyFiles = new FaultyFiles(IngestFiles.of(null, Files.createTempDirectory("marks").toString))

  private def mark(upTo: Long) = SettledMark(Queue, 0, upTo, Set.empty)

  test("a mark that is not complete counts when it is") {
    val files = root()
    val path = "settled/0-00000000000000000007-0123456789abcdef.json"
    val bytes = SettledMark.encode(mark(7))
    files.create(path, bytes.take(bytes.length / 2))
    val marks = new SettledMarks(files, Queue)
    assert(marks.read().isEmpty)
    files.replace(path, bytes)
    assert(marks.read()(0).upTo == 7)
  }

  test("a mark that cannot be deleted fails nothing, is logged once, and leaves with a later one") {
    val files = root()
    val marks = new SettledMarks(files, Queue)
    marks.write(mark(1))
    files.refused += "delete" -> "settled/"
    val warnings = LoggedWarnings.of("zonemap.ingest")((2 to 4).foreach(upTo => marks.write(mark(upTo.toLong))))
    assert(warnings.size == 1 && warnings.head.startsWith("Cannot delete the mark"), warnings)
    assert(files.list("settled").size == 4 && marks.read()(0).upTo == 4)
    files.refused.clear()
    marks.write(mark(5))
    assert(files.list("settled").size == 1 && marks.read()(0).upTo == 5)
  }
}
