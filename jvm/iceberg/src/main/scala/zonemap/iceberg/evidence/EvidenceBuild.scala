package zonemap.iceberg.evidence

import org.apache.iceberg.{Snapshot, Table}
import org.slf4j.LoggerFactory

import zonemap.core.segment.Provenance
import zonemap.iceberg.build.SegmentCompactor
import zonemap.iceberg.convert.MappedNames
import zonemap.iceberg.registry.IndexProcess
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.snapshot.{LiveSegment, SnapshotIndex, SnapshotKey, StoredSnapshots}

/**
 * The result of a check of footers.
 *
 * @param read number of footers that were read
 * @param proven number of files whose statistics they prove, at least those of some columns
 * @param left number of Parquet files without evidence
 */
private[zonemap] final case class EvidenceResult(read: Long, proven: Long, left: Long, seconds: Double)

/** Raises the trust in the statistics of stored files by reading footers. Thread-safe. */
private[zonemap] final class EvidenceBuild(process: IndexProcess) {
  import EvidenceBuild._

  private val compactor = new SegmentCompactor(process.access.spill)

  /**
   * Reads the footers of up to `most` files of a stored snapshot without evidence, the newest first, and writes the
   * evidence to the store. A later call goes on with the files that are left.
   */
  def run(
      table: Table,
      snapshot: Snapshot,
      settings: PlannerSettings,
      runner: FooterTaskRunner,
      most: Int): EvidenceResult = {
    val started = System.nanoTime()
    val store = process.storeOf(table, settings)
    val index =
      process.tables.of(table).get(SnapshotKey.of(snapshot)).orElse(StoredSnapshots.load(table, snapshot, store))
    val open = index.fold(Seq.empty[(LiveSegment, Array[Int])])(openFiles(table, _, store.root))
    val tasks = withinBudget(open, most).map { case (live, rows) =>
      live -> FooterTask.group(live.origin.stored.get.ref, rows)
    }
    val findings = runner.check(tasks.flatMap(_._2), store)
    val bySegment = tasks
      .foldLeft((findings, Seq.empty[(LiveSegment, Seq[FooterFindings])])) { case ((left, done), (live, group)) =>
        val (of, rest) = left.splitAt(group.size)
        (rest, done :+ (live -> of))
      }
      ._2
    if (bySegment.nonEmpty) {
      val changed =
        bySegment.map { case (live, of) => live -> evidenced(table, live, of) }.toMap[LiveSegment, LiveSegment]
      val segments = index.get.segments.map(live => changed.getOrElse(live, live))
      process.save(table, index.get.withSegments(segments), store, settings): Unit
    }
    val codes = findings.flatMap(_.codes).map(Provenance.ofCode)
    val left = open.iterator.map(_._2.length.toLong).sum - codes.size
    val result =
      EvidenceResult(codes.size.toLong, codes.count(_.isProven).toLong, left, (System.nanoTime() - started) / 1e9)
    if (findings.nonEmpty)
      log.info(
        s"Zonemap: ${result.read} footers of ${table.name()} were read in ${result.seconds} s: they prove the " +
          s"statistics of ${result.proven} files; $left files are left without evidence.")
    result
  }

  /** The files to check by segment, the newest segment first. A file that was checked under other names is checked again. */
  private def openFiles(table: Table, index: SnapshotIndex, storeRoot: String): Seq[(LiveSegment, Array[Int])] =
    index.segments.reverse.filter(_.origin.isStoredIn(storeRoot)).map { live =>
      val segment = live.segment
      val renamed = isRenamed(table, live)
      live -> live.liveRows().toArray.filter { row =>
        FooterTask.isOpen(segment, row) || (renamed && segment.provenance(row).byName)
      }
    }

  /** Whether readers find a column by other names than when files of the segment were checked. */
  private def isRenamed(table: Table, live: LiveSegment): Boolean =
    live.segment.evidence.names.exists { case (id, digest) => !MappedNames.digest(table, id).contains(digest) }

  private def withinBudget(open: Seq[(LiveSegment, Array[Int])], most: Int): Seq[(LiveSegment, Array[Int])] =
    open
      .foldLeft((most, Seq.empty[(LiveSegment, Array[Int])])) { case ((left, chosen), (live, rows)) =>
        val taken = rows.takeRight(left)
        (left - taken.length, chosen :+ (live -> taken))
      }
      ._2
      .filter(_._2.nonEmpty)

  private def evidenced(table: Table, live: LiveSegment, findings: Seq[FooterFindings]): LiveSegment = {
    val found = findings.iterator.flatMap { f =>
      f.rows.indices.iterator.map(i => f.rows(i) -> (Provenance.ofCode(f.codes(i)) -> f.doubted(i).toSeq))
    }.toMap
    val names = live.segment.columnIds.flatMap(id => MappedNames.digest(table, id).map(id -> _)).toMap
    // what was proven under other names is proven no more, so that a later call checks these files again
    def outdated(row: Int) =
      Option.when(isRenamed(table, live) && live.segment.provenance(row).byName)(Provenance.Unknown -> Seq.empty[Int])
    compactor.withEvidence(live, names, row => found.get(row).orElse(outdated(row)))
  }
}

private object EvidenceBuild {
  private val log = LoggerFactory.getLogger("zonemap.index")
}
