// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.sim

import java.nio.file.{Files, Path}

import org.scalatest.funsuite.AnyFunSuite

class SimulationRunTest extends AnyFunSuite {
  private def journal(): Path = Files.createTempDirectory("simulation").resolve("a.journal")

  private def run(path: Path, seeds: Long, threads: Int): SimulationRun = {
    val run = new SimulationRun(7, seeds, chunk = 3, new SimulationJournal(path))
    run.run(threads)
    run
  }

  private def digests(path: Path): Seq[(Long, Int, String)] =
    new SimulationJournal(path).chunks.map(c => (c.first, c.seeds, c.digest)).sorted

  test("a run goes on from its journal, and does what a run without a stop does") {
    val (stopped, whole) = (journal(), journal())
    run(stopped, 3, threads = 1)
    val after = Files.readAllLines(stopped).get(0)
    run(stopped, 8, threads = 2)
    run(whole, 8, threads = 1)
    assert(Files.readAllLines(stopped).get(0) == after)
    assert(digests(stopped) == digests(whole) && digests(whole).map(_._2) == Seq(3, 3, 2))
  }

  test("a line that was cut counts as a chunk that is not done") {
    val path = journal()
    run(path, 6, threads = 1)
    val lines = Files.readString(path)
    Files.writeString(path, lines.dropRight(4))
    assert(digests(path).size == 1)
    run(path, 6, threads = 1)
    assert(digests(path).size == 2)
  }

  test("a failure is in the report, and stays in the journal") {
    val path = journal()
    new SimulationJournal(path).add(DoneChunk(7, 3, 1, "00000000"), Seq(8L -> "lost"))
    assert(run(path, 3, threads = 1).report.contains("1 failures") && run(path, 3, 1).report.endsWith("problem 8 lost"))
  }
}
