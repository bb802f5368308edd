// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.sim

import java.io.RandomAccessFile
import java.lang.management.ManagementFactory
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, StandardOpenOption}
import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._

/**
 * Runs many seeds in chunks, and continues from a journal after it was stopped: `make simulate SEEDS=n FROM=s`.
 *
 * Arguments: the first seed, the number of seeds, the journal, the number of threads. Ends with an error if a seed has
 * failed.
 */
object Simulate {
  private val Chunk = 500

  def main(arguments: Array[String]): Unit = {
    require(arguments.length == 4, "Name the first seed, the number of seeds, the journal and the number of threads.")
    val journal = new SimulationJournal(Path.of(arguments(2)))
    val run = new SimulationRun(arguments(0).toLong, arguments(1).toLong, Chunk, journal)
    run.run(arguments(3).toInt)
    println(run.report)
    if (journal.problems.nonEmpty) sys.exit(1)
  }
}

/**
 * The chunks that are done, and the seeds that have failed: one line each. Thread-safe.
 *
 * A line of a chunk is `chunk <first seed> <seeds> <milliseconds of CPU> <digest>`; the digest stands for everything
 * that the seeds of the chunk did. A line of a failure is `problem <seed> <text>`, and comes before that of its chunk.
 */
final class SimulationJournal(path: Path) {
  import SimulationJournal._

  private var lines: Seq[String] =
    if (Files.exists(path)) Files.readAllLines(path, UTF_8).asScala.toSeq else Nil

  def chunks: Seq[DoneChunk] = synchronized(lines).collect { case ChunkLine(first, seeds, millis, digest) =>
    DoneChunk(first.toLong, seeds.toInt, millis.toLong, digest)
  }

  /** Each failure once: a chunk that was stopped before its line was written runs again. */
  def problems: Seq[String] = synchronized(lines).filter(_.startsWith("problem ")).distinct

  def add(chunk: DoneChunk, found: Seq[(Long, String)]): Unit = synchronized {
    val added = found.map { case (seed, problem) => s"problem $seed ${problem.replace('\n', ' ')}" } :+
      s"chunk ${chunk.first} ${chunk.seeds} ${chunk.cpuMillis} ${chunk.digest}"
    Option(path.getParent).foreach(Files.createDirectories(_))
    val text = added.map(_ + "\n").mkString(if (endsInLine) "" else "\n", "", "")
    Files.writeString(path, text, UTF_8, StandardOpenOption.CREATE, StandardOpenOption.APPEND)
    lines ++= added
  }

  /** `false` if the last line was cut, because the process that wrote it was killed. */
  private def endsInLine: Boolean = !Files.exists(path) || Files.size(path) == 0 || {
    val file = new RandomAccessFile(path.toFile, "r")
    try {
      file.seek(file.length() - 1)
      file.read() == '\n'
    } finally file.close()
  }
}

/** Seeds that were run one after the other. */
final case class DoneChunk(first: Long, seeds: Int, cpuMillis: Long, digest: String)

object SimulationJournal {
  private val ChunkLine = "chunk ([0-9]+) ([0-9]+) ([0-9]+) ([0-9a-f]{8})".r
}

/** The chunks of some seeds that the journal does not have yet. */
final class SimulationRun(first: Long, seeds: Long, chunk: Int, val journal: SimulationJournal) {
  private val done = journal.chunks.map(c => (c.first, c.seeds)).toSet
  private val starts = (first until first + seeds by chunk.toLong).map { start =>
    (start, math.min(chunk.toLong, first + seeds - start).toInt)
  }
  private val left = starts.filterNot(done)
  private val next = new AtomicInteger

  def run(threads: Int): Unit = {
    val workers = Seq.fill(threads)(new Thread(() => work()))
    workers.foreach(_.start())
    workers.foreach(_.join())
  }

  private def work(): Unit = {
    val times = ManagementFactory.getThreadMXBean
    Iterator.continually(next.getAndIncrement()).takeWhile(_ < left.size).foreach { i =>
      val (start, size) = left(i)
      val before = times.getCurrentThreadCpuTime
      val results = (start until start + size).map(seed => seed -> Simulation.outcome(seed, None))
      val millis = (times.getCurrentThreadCpuTime - before) / 1000000
      val digest = f"${results.map(_._2.digest).hashCode}%08x"
      journal.add(
        DoneChunk(start, size, millis, digest),
        results.flatMap { case (seed, outcome) => outcome.problem.map(seed -> _) })
    }
  }

  def report: String = {
    val mine = journal.chunks.filter(c => starts.contains((c.first, c.seeds))).distinctBy(_.first)
    val cpu = mine.map(_.cpuMillis).sum
    val total = mine.map(_.seeds.toLong).sum
    s"$total seeds from $first, ${cpu / 1000} s of CPU, ${cpu * 1000 / math.max(1, total)} us a seed, " +
      s"${journal.problems.size} failures, digest ${f"${mine.sortBy(_.first).map(_.digest).hashCode}%08x"}" +
      journal.problems.map("\n" + _).mkString
  }
}
