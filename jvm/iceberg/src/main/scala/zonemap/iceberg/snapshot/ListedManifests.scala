// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.snapshot

import java.util.concurrent.{ExecutionException, FutureTask}

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.iceberg.{ManifestFile, Snapshot, Table}

import zonemap.core.segment.ManifestIdentity
import zonemap.iceberg.convert.ManifestIdentities
import zonemap.iceberg.store.{FileIOByteSource, StorePool}

/**
 * The manifests that a snapshot lists. Another thread reads the manifest list while the snapshot's stored version is
 * read.
 */
private[snapshot] final class ListedManifests private (reading: FutureTask[Seq[ManifestFile]]) {

  /** Describes how the live manifests of `index` differ from the listed ones; `None` if they are the same. */
  def differenceFrom(index: SnapshotIndex): Option[String] = {
    val counts = mutable.HashMap.empty[ManifestIdentity, Int]
    def count(identity: ManifestIdentity, by: Int): Unit =
      counts.updateWith(identity)(known => Some(known.getOrElse(0) + by).filter(_ != 0)): Unit
    listed().foreach(manifest => count(ManifestIdentities.of(manifest), 1))
    index.segments.foreach(s => s.liveManifests.foreach(o => count(s.segment.manifests(o).identity, -1)))
    index.deletes.segments.foreach(s => s.liveManifests.foreach(o => count(s.segment.manifests(o).identity, -1)))
    val (lacking, foreign) = counts.valuesIterator.partition(_ > 0)
    val (lacks, strangers) = (lacking.sum, -foreign.sum)
    misplaced(index).orElse(Option.when(lacks + strangers > 0) {
      s"lacks $lacks manifests that its snapshot lists, and names $strangers that it does not list"
    })
  }

  /**
   * Verifies that delete manifests are in delete segments and data manifests in data segments; describes a violation.
   */
  private def misplaced(index: SnapshotIndex): Option[String] = {
    def holds(manifests: Iterator[ManifestIdentity], content: Int) = manifests.forall(_.content == content)
    val isPlaced = index.segments.forall(s =>
      holds(s.liveManifests.iterator.map(s.segment.manifests(_).identity), ListedManifests.Data)) &&
      index.deletes.segments.forall(s =>
        holds(s.liveManifests.iterator.map(s.segment.manifests(_).identity), ListedManifests.Deletes))
    Option.unless(isPlaced)("names manifests in segments of another content")
  }

  /** Waits for the list. A failed read is not reported here: a caller that needs the list reads it again. */
  def await(): Unit =
    try listed(): Unit
    catch { case NonFatal(_) => () }

  private def listed(): Seq[ManifestFile] = {
    // if no other thread has started the task yet, this thread runs it
    reading.run()
    try reading.get()
    catch { case e: ExecutionException => throw e.getCause }
  }
}

private[snapshot] object ListedManifests {
  private val Data = org.apache.iceberg.ManifestContent.DATA.id()
  private val Deletes = org.apache.iceberg.ManifestContent.DELETES.id()

  /** Starts to read the manifest list on a thread of `fetches`. */
  def reading(table: Table, snapshot: Snapshot, fetches: StorePool): ListedManifests = {
    val task = new FutureTask[Seq[ManifestFile]](() => ManifestIdentities.live(table, snapshot))
    val folder = Option(snapshot.manifestListLocation()).fold("")(FileIOByteSource.folderOf)
    fetches.execute(folder)(task.run())
    new ListedManifests(task)
  }
}
