package zonemap.iceberg.history

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.nio.file.attribute.PosixFilePermissions
import java.util.concurrent.atomic.AtomicLong

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.report.{CountedSteps, FileTotal, PlanRecord, PlanStage, PlanStep, StepRecord}
import zonemap.iceberg.settings.HistorySettings

/** Planned scans in a local folder: round trip, two processes, bounded size, damage, and folders that refuse. */
class KeptHistoryTest extends AnyFunSuite {

  private def newDir(): Path = Files.createTempDirectory("history")

  private def filesOf(dir: Path): Seq[Path] = {
    val folder = dir.resolve("zonemap-history-v1")
    if (Files.exists(folder)) Files.list(folder).iterator().asScala.toSeq.sorted else Nil
  }

  private def scan(at: Long, predicate: String = "id = 1"): PlanRecord =
    PlanRecord(
      at,
      "lake.db.t",
      7,
      "EXACT",
      "hot",
      "",
      9,
      8,
      3,
      -1,
      30,
      900,
      300,
      new CountedSteps,
      new AtomicLong(1),
      "",
      predicate,
      "",
      -1,
      0.5)

  private def settings(dir: Path, application: String = "app-1") = HistorySettings(Some(dir.toString), application)

  /** The scans that another process finds. */
  private def found(dir: Path): Seq[KeptScan] = new KeptHistory().ofOthers(settings(dir))

  test("scans of two processes are found by a third, whole, and not by the one that wrote them") {
    val dir = newDir()
    val (one, two) = (new KeptHistory(0), new KeptHistory(0))
    val odd = scan(5, "s = 'a\nb\u0000\u2028\"\\é😀'")
    val step = StepRecord("bounds", "bounds of id", 9, 3, -1, 30)
    one.add(settings(dir), odd.copy(counted = CountedSteps.of(Seq(step))))
    two.add(settings(dir, "app-2"), scan(6))
    one.end()
    two.end()
    val all = found(dir).sortBy(_.record.atMillis)
    assert(all.map(_.application) == Seq("app-1", "app-2"))
    assert(all.head.record.copy(counted = odd.counted, runs = odd.runs) == odd)
    assert(all.head.record.counted.all == Seq(step) && all.head.record.runs.get == 1)
    assert(one.ofOthers(settings(dir)).map(_.application) == Seq("app-2"))
    assert(filesOf(dir).size == 2)
    filesOf(dir).foreach(f => assert(PosixFilePermissions.toString(Files.getPosixFilePermissions(f)) == "rw-------"))
  }

  test("steps that a run counts after the plan are written") {
    val dir = newDir()
    val kept = new KeptHistory(60000)
    val planned = scan(5)
    kept.add(settings(dir), planned)
    assert(filesOf(dir).isEmpty)
    planned.counted.put(Seq(PlanStage(PlanStep.Bounds(Seq("id")), FileTotal(9, Some(90)), FileTotal(3, None))))
    kept.end()
    assert(found(dir).flatMap(_.record.counted.all) == Seq(StepRecord("bounds", "bounds of id", 9, 3, 90, -1)))
  }

  test("nothing is written without a folder") {
    val kept = new KeptHistory(0)
    kept.add(HistorySettings(), scan(1))
    assert(kept.ofOthers(HistorySettings()).isEmpty)
    assert(!Thread.getAllStackTraces.keySet.asScala.exists(t => t.getName == "zonemap-history" && t.isAlive))
  }

  test("files begin anew at a size, the oldest are deleted, and a deleted file is no error") {
    val dir = newDir()
    val folder = new HistoryFolder(dir.toString, "00000000000000aa", fileBytes = 1000, mostFiles = 3)
    for (at <- 1 to 40) folder.append(Seq(KeptScan("a", scan(at.toLong))))
    assert(filesOf(dir).size == 3 && filesOf(dir).forall(Files.size(_) < 2000))
    val retained = found(dir).map(_.record.atMillis).sorted
    assert(retained.last == 40 && retained == (retained.head to 40L) && retained.size <= 12)
    filesOf(dir).foreach(Files.delete)
    folder.append(Seq(KeptScan("a", scan(41))))
    assert(found(dir).map(_.record.atMillis) == Seq(41))
  }

  test("damaged lines and files are left out, files of others are neither read nor deleted") {
    val dir = newDir()
    val kept = new KeptHistory(0)
    kept.add(settings(dir), scan(5))
    kept.end()
    val good = Files.readString(filesOf(dir).head)
    val folder = dir.resolve("zonemap-history-v1")
    def write(name: String, text: String): Path =
      Files.write(folder.resolve(name), text.getBytes(UTF_8))
    write("0000000000001-00000000000000ab.jsonl", good + good.dropRight(20) + "\n[]\n7\n{}\n\u0000\u0001\n" + good)
    write("0000000000002-00000000000000ac.jsonl", good.replace("\"kept\":3", "\"kept\":\"3\""))
    write("notes.txt", good)
    Files.createDirectories(folder.resolve("0000000000000-00000000000000ad.jsonl").resolve("inside"))
    Files.createSymbolicLink(folder.resolve("0000000000004-00000000000000ae.jsonl"), filesOf(dir).head)
    assert(found(dir).size == 3)
    val small = new HistoryFolder(dir.toString, "00000000000000af", mostFiles = 5)
    small.append(Seq(KeptScan("a", scan(6))))
    assert(Files.exists(folder.resolve("notes.txt")) && found(dir).exists(_.record.atMillis == 6))
  }

  test("a folder that others may open, or that is a file, is not used, and the caller goes on") {
    val open = newDir()
    val inside = Files.createDirectory(open.resolve("zonemap-history-v1"))
    Files.setPosixFilePermissions(inside, PosixFilePermissions.fromString("rwxrwxrwx"))
    val file = Files.createTempFile("history", "file")
    for (dir <- Seq(open, file)) {
      val kept = new KeptHistory(0)
      kept.add(settings(dir), scan(5))
      kept.end()
      assert(found(dir).isEmpty && filesOf(open).isEmpty)
    }
  }
}
