// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.evidence

import java.util.concurrent.TimeUnit

import scala.annotation.tailrec

import org.apache.iceberg.{Snapshot, Table}
import org.slf4j.LoggerFactory

import zonemap.core.segment.{FileEvidence, Provenance}
import zonemap.iceberg.build.SegmentCompactor
import zonemap.iceberg.convert.MappedNames
import zonemap.iceberg.registry.IndexProcess
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.snapshot.{LiveSegment, SnapshotIndex, SnapshotKey, StoredSnapshots}
import zonemap.iceberg.store.IndexStore
import zonemap.iceberg.trust.DoubtfulFiles

/**
 * What a call may spend on footers.
 *
 * @param files the most files whose footers are read
 * @param seconds the time after which no further footer is read
 */
private[zonemap] final case class FooterBudget(files: Int, seconds: Int)

/**
 * What a call leaves to later ones.
 *
 * @param files the files without evidence whose footers it has not read
 * @param seconds an estimate of the time that they take, from the footers that the call has read; `None` if it read none
 */
private[zonemap] final case class FootersLeft(files: Long, seconds: Option[Double])

private[zonemap] object FootersLeft {
  val OfNoSnapshot: FootersLeft = FootersLeft(0, Some(0.0))

  /** @param readSeconds the time that `read` footers took */
  private[evidence] def of(files: Long, read: Long, readSeconds: Double): FootersLeft =
    FootersLeft(files, if (files == 0) Some(0.0) else Option.when(read > 0)(readSeconds * files / read))
}

/** Raises the trust in the statistics of stored files by reading footers. Thread-safe. */
private[zonemap] final class EvidenceBuild(process: IndexProcess) {
  import EvidenceBuild._

  private val compactor = new SegmentCompactor(process.access.spill)

  /**
   * Reads the footers of files of a stored snapshot without evidence, the newest first, until the budget is used up, and
   * writes the evidence to the store. A later call goes on with the files that are left, which the answer counts.
   */
  def run(
      table: Table,
      snapshot: Snapshot,
      settings: PlannerSettings,
      runner: FooterTaskRunner,
      budget: FooterBudget): FootersLeft = {
    val until = System.currentTimeMillis() + TimeUnit.SECONDS.toMillis(budget.seconds)
    val store = process.storeOf(table, settings)
    val names = MappedNames.digests(table)
    process.tables
      .of(table)
      .get(SnapshotKey.of(snapshot))
      .orElse(StoredSnapshots.load(table, snapshot, store))
      .fold(FootersLeft.OfNoSnapshot) { index =>
        val open = openFiles(index, store.root, names)
        val started = System.nanoTime()
        val findings = check(open, budget.files, until, runner, store)
        val seconds = (System.nanoTime() - started) / 1e9
        val bySegment = findings.groupMap(_._1)(_._2)
        if (bySegment.nonEmpty) {
          val segments = index.segments.map(live => bySegment.get(live).fold(live)(evidenced(live, _, names)))
          process.save(table, index.withSegments(segments), store, settings): Unit
        }
        val read = findings.iterator.map(_._2.rows.length).sum
        val left = filesOf(open) - read
        if (read > 0) {
          val proven = findings.flatMap(_._2.codes).map(Provenance.ofCode).count(_.isProven)
          log.info(
            s"Zonemap: footers of ${table.name()} were read in $seconds s: they prove the statistics of $proven files; " +
              s"$left files are left without evidence.")
        }
        FootersLeft.of(left.toLong, read.toLong, seconds)
      }
  }

  /** Reads footers in rounds, because files whose footer cannot be read must not use up the budget in each call. */
  private def check(
      open: OpenFiles,
      budget: Int,
      until: Long,
      runner: FooterTaskRunner,
      store: IndexStore): Seq[(LiveSegment, FooterFindings)] = {
    @tailrec
    def rounds(
        open: OpenFiles,
        left: Int,
        failures: Int,
        found: Seq[(LiveSegment, FooterFindings)]): Seq[(LiveSegment, FooterFindings)] =
      if (open.isEmpty || left == 0 || failures > MostFailures || System.currentTimeMillis() >= until) found
      else {
        val (chosen, later) = split(open, left)
        val tasks = chosen.flatMap { case (live, rows) =>
          FooterTask.group(live.origin.stored.get.ref, rows, until).map(live -> _)
        }
        val findings = tasks.map(_._1).zip(runner.check(tasks.map(_._2), store)).filter(_._2.rows.nonEmpty)
        val read = findings.iterator.map(_._2.rows.length).sum
        rounds(later, left - read, failures + filesOf(chosen) - read, found ++ findings)
      }
    rounds(open, budget, 0, Nil)
  }

  /** The files to check by segment, the newest segment first. A file that was checked under other names is checked again. */
  private def openFiles(index: SnapshotIndex, storeRoot: String, names: Int => Option[String]): OpenFiles =
    index.segments.reverse
      .filter(_.origin.isStoredIn(storeRoot))
      .map { live =>
        val segment = live.segment
        val renamed = isRenamed(live, names)
        live -> live.liveRows().toArray.filter { row =>
          DoubtfulFiles.hasUnreadFooter(segment, row) || (renamed && segment.provenance(row).byName)
        }
      }
      .filter(_._2.nonEmpty)

  /** Whether readers find a column by other names than when files of the segment were checked. */
  private def isRenamed(live: LiveSegment, names: Int => Option[String]): Boolean =
    live.segment.evidence.names.exists { case (id, digest) => !names(id).contains(digest) }

  /** The newest `most` files, and the others. */
  private def split(open: OpenFiles, most: Int): (OpenFiles, OpenFiles) = {
    val (_, chosen, later) =
      open.foldLeft((most, (Nil: OpenFiles), (Nil: OpenFiles))) { case ((left, chosen, later), (live, rows)) =>
        val (older, taken) = rows.splitAt(rows.length - left)
        (left - taken.length, chosen :+ (live -> taken), later :+ (live -> older))
      }
    (chosen.filter(_._2.nonEmpty), later.filter(_._2.nonEmpty))
  }

  private def filesOf(open: OpenFiles): Int = open.iterator.map(_._2.length).sum

  private def evidenced(live: LiveSegment, findings: Seq[FooterFindings], names: Int => Option[String]): LiveSegment = {
    val found = findings.iterator.flatMap { f =>
      f.rows.indices.iterator.map { i =>
        f.rows(i) -> FileEvidence(Provenance.ofCode(f.codes(i)), f.doubted(i).toSeq, f.withoutNaN(i).toSeq)
      }
    }.toMap
    val renamed = isRenamed(live, names)
    // what was proven under other names is proven no more, so that a later call checks these files again
    def outdated(row: Int) =
      Option.when(renamed && live.segment.provenance(row).byName)(FileEvidence(Provenance.Unknown, Nil, Nil))
    val known = live.segment.columnIds.flatMap(id => names(id).map(id -> _)).toMap
    compactor.withEvidence(live, known, row => found.get(row).orElse(outdated(row)))
  }
}

private object EvidenceBuild {
  private val log = LoggerFactory.getLogger("zonemap.index")

  /** Rows of files to check, by segment. */
  private type OpenFiles = Seq[(LiveSegment, Array[Int])]

  /** Files whose footer cannot be read, after which a call ends: the storage answers nothing, or the table is broken. */
  private val MostFailures = 1000
}
