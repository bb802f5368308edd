package zonemap.iceberg.evidence

import org.apache.iceberg.{Snapshot, Table}
import org.slf4j.LoggerFactory

import zonemap.core.segment.Provenance
import zonemap.iceberg.build.SegmentCompactor
import zonemap.iceberg.convert.MappedNames
import zonemap.iceberg.prune.DoubtfulFiles
import zonemap.iceberg.registry.IndexProcess
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.snapshot.{LiveSegment, SnapshotIndex, SnapshotKey, StoredSnapshots}

/** Raises the trust in the statistics of stored files by reading footers. Thread-safe. */
private[zonemap] final class EvidenceBuild(process: IndexProcess) {
  import EvidenceBuild._

  private val compactor = new SegmentCompactor(process.access.spill)

  /**
   * Reads the footers of up to `most` files of a stored snapshot without evidence, the newest first, and writes the
   * evidence to the store. A later call goes on with the files that are left.
   */
  def run(table: Table, snapshot: Snapshot, settings: PlannerSettings, runner: FooterTaskRunner, most: Int): Unit = {
    val started = System.nanoTime()
    val store = process.storeOf(table, settings)
    val names = MappedNames.digests(table)
    process.tables
      .of(table)
      .get(SnapshotKey.of(snapshot))
      .orElse(StoredSnapshots.load(table, snapshot, store))
      .foreach { index =>
        val open = openFiles(index, store.root, names)
        val tasks = withinBudget(open, most).flatMap { case (live, rows) =>
          FooterTask.group(live.origin.stored.get.ref, rows).map(live -> _)
        }
        val findings = runner.check(tasks.map(_._2), store)
        val bySegment = tasks.map(_._1).zip(findings).filter(_._2.rows.nonEmpty).groupMap(_._1)(_._2)
        if (bySegment.nonEmpty) {
          val segments = index.segments.map(live => bySegment.get(live).fold(live)(evidenced(live, _, names)))
          process.save(table, index.withSegments(segments), store, settings): Unit
        }
        if (tasks.nonEmpty) {
          val proven = findings.flatMap(_.codes).map(Provenance.ofCode).count(_.isProven)
          val left = open.iterator.map(_._2.length).sum - findings.iterator.map(_.rows.length).sum
          log.info(
            s"Zonemap: footers of ${table.name()} were read in ${(System.nanoTime() - started) / 1e9} s: they prove the " +
              s"statistics of $proven files; $left files are left without evidence.")
        }
      }
  }

  /** The files to check by segment, the newest segment first. A file that was checked under other names is checked again. */
  private def openFiles(
      index: SnapshotIndex,
      storeRoot: String,
      names: Int => Option[String]): Seq[(LiveSegment, Array[Int])] =
    index.segments.reverse.filter(_.origin.isStoredIn(storeRoot)).map { live =>
      val segment = live.segment
      val renamed = isRenamed(live, names)
      live -> live.liveRows().toArray.filter { row =>
        DoubtfulFiles.hasUnreadFooter(segment, row) || (renamed && segment.provenance(row).byName)
      }
    }

  /** Whether readers find a column by other names than when files of the segment were checked. */
  private def isRenamed(live: LiveSegment, names: Int => Option[String]): Boolean =
    live.segment.evidence.names.exists { case (id, digest) => !names(id).contains(digest) }

  private def withinBudget(open: Seq[(LiveSegment, Array[Int])], most: Int): Seq[(LiveSegment, Array[Int])] =
    open
      .foldLeft((most, Seq.empty[(LiveSegment, Array[Int])])) { case ((left, chosen), (live, rows)) =>
        val taken = rows.takeRight(left)
        (left - taken.length, chosen :+ (live -> taken))
      }
      ._2
      .filter(_._2.nonEmpty)

  private def evidenced(live: LiveSegment, findings: Seq[FooterFindings], names: Int => Option[String]): LiveSegment = {
    val found = findings.iterator.flatMap { f =>
      f.rows.indices.iterator.map(i => f.rows(i) -> (Provenance.ofCode(f.codes(i)) -> f.doubted(i).toSeq))
    }.toMap
    val renamed = isRenamed(live, names)
    // what was proven under other names is proven no more, so that a later call checks these files again
    def outdated(row: Int) =
      Option.when(renamed && live.segment.provenance(row).byName)(Provenance.Unknown -> Seq.empty[Int])
    val known = live.segment.columnIds.flatMap(id => names(id).map(id -> _)).toMap
    compactor.withEvidence(live, known, row => found.get(row).orElse(outdated(row)))
  }
}

private object EvidenceBuild {
  private val log = LoggerFactory.getLogger("zonemap.index")
}
