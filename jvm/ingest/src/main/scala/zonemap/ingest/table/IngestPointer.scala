// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.table

import java.util.{Map => JMap}

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{Snapshot, TableMetadata}

import zonemap.ingest.record.Nonce

/**
 * Names the state that a branch of a table is in: its state file, its queue and its table. It moves in the same commit
 * of metadata as the data files.
 *
 * @param no the number of the state file; it grows by one with every commit
 * @param nonce the random part of the name of the state file
 */
private[zonemap] final case class IngestPointer(no: Long, nonce: String, queueId: String, tableUuid: String) {

  /** The value of the table property and of the snapshot summary. */
  def text: String = s"v1|$no|$nonce|$queueId|$tableUuid"

  /** The path of the state file in the ingest root. */
  def statePath: String = StateFile.path(no, nonce)
}

private[zonemap] object IngestPointer {

  /** The key of the snapshot summary. */
  val Summary = "zonemap.ingest.pointer"

  /** The key of the snapshot summary that names the branch of the pointer. */
  val SummaryBranch = "zonemap.ingest.branch"

  private val PropertyPrefix = "zonemap.ingest.pointer."
  private val Text = s"v1\\|([0-9]{1,18})\\|(${Nonce.Pattern})\\|([^|]+)\\|([^|]+)".r

  def property(branch: String): String = PropertyPrefix + branch

  /** The branches for which the table has a pointer property. */
  def branches(metadata: TableMetadata): Seq[String] =
    metadata
      .properties()
      .asScala
      .keys
      .collect {
        case key if key.startsWith(PropertyPrefix) => key.stripPrefix(PropertyPrefix)
      }
      .toSeq
      .sorted

  /**
   * The text of the pointer of a branch: that of the table property or, if a user removed the property, that of the
   * newest snapshot of the branch whose summary has one.
   */
  def textOf(metadata: TableMetadata, branch: String): Option[String] =
    Option(metadata.properties().get(property(branch))).orElse {
      ancestry(metadata, branch).map(_.summary()).find(isOf(_, branch)).map(_.get(Summary))
    }

  /** Whether a summary has a pointer of the branch. */
  def isOf(summary: JMap[String, String], branch: String): Boolean =
    summary.containsKey(Summary) && branch == summary.get(SummaryBranch)

  /** The snapshots of a branch from its head backwards, as far as the metadata retains them. */
  def ancestry(metadata: TableMetadata, branch: String): Iterator[Snapshot] =
    Iterator.unfold(Option(metadata.ref(branch)).map(_.snapshotId())) { id =>
      id.flatMap(id => Option(metadata.snapshot(id)))
        .map(snapshot => snapshot -> Option(snapshot.parentId()).map(_.longValue()))
    }

  /** @throws IngestStoppedException if the text is not a pointer of this format */
  def parse(text: String): IngestPointer = text match {
    case Text(no, nonce, queueId, tableUuid) => IngestPointer(no.toLong, nonce, queueId, tableUuid)
    case _ =>
      throw new IngestStoppedException(
        StopCode.UnknownPointer,
        s"Cannot read the ingest pointer '$text': this release does not know its format. Use the release that wrote " +
          "it, or choose the watermarks with ingest_reset."
      )
  }
}
