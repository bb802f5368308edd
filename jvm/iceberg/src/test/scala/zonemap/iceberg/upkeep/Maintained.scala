// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.upkeep

import java.lang.{Long => JLong}
import java.nio.ByteBuffer
import java.util.{HashMap => JHashMap}
import java.util.concurrent.atomic.AtomicInteger

import org.apache.iceberg.ExpireSnapshots.CleanupLevel
import org.apache.iceberg.{DataFile, DataFiles, DeleteFile, FileFormat, FileMetadata, Metrics, PartitionSpec, Schema}
import org.apache.iceberg.expressions.{Expression, Expressions}
import org.apache.iceberg.types.{Conversions, Types}
import org.apache.iceberg.types.Types.NestedField.required

import zonemap.iceberg.plan.Planning
import zonemap.iceberg.settings.{PlannerSettings, UpkeepMode, UpkeepSettings}
import zonemap.iceberg.snapshot.{SnapshotIndex, SnapshotKey}
import zonemap.iceberg.testing.{TestProcess, TestTable}

/** A table in memory whose commits add files that exist in metadata only; file k holds ids 10k to 10k + 9. */
final class Maintained(columns: Int = 1)(implicit process: TestProcess) {
  val table: TestTable = TestTable.create(
    new Schema((1 to columns).map(id => required(id, if (id == 1) "id" else s"c$id", Types.LongType.get())): _*))
  private val files = new AtomicInteger

  def fileCount: Int = files.get

  def file(): DataFile = {
    val k = files.getAndIncrement()
    val lower = new JHashMap[Integer, ByteBuffer]
    val upper = new JHashMap[Integer, ByteBuffer]
    val counts = new JHashMap[Integer, JLong]
    val nulls = new JHashMap[Integer, JLong]
    (1 to columns).foreach { id =>
      val start = k * 10L * id
      lower.put(id, Conversions.toByteBuffer(Types.LongType.get(), start))
      upper.put(id, Conversions.toByteBuffer(Types.LongType.get(), start + 9))
      counts.put(id, 10L)
      nulls.put(id, 0L)
    }
    DataFiles
      .builder(PartitionSpec.unpartitioned())
      .withPath(f"mem://lake/${table.name}/data/00000-$k%d-6f1c2f5e-8e1d-4d7b-9a39-5d1f0f0c7d11-00001.parquet")
      .withFormat(FileFormat.PARQUET)
      .withFileSizeInBytes(1000L + k)
      .withMetrics(new Metrics(10L, null, counts, nulls, null, lower, upper))
      .build()
  }

  def append(count: Int = 2): Seq[DataFile] = {
    val added = Seq.fill(count)(file())
    table.append(added: _*)
    added
  }

  /** A delete file for one data file. */
  def delete(of: DataFile): DeleteFile = {
    val deletes = FileMetadata
      .deleteFileBuilder(PartitionSpec.unpartitioned())
      .ofPositionDeletes()
      .withPath(s"mem://lake/${table.name}/deletes/${files.getAndIncrement()}.parquet")
      .withFormat(FileFormat.PARQUET)
      .withFileSizeInBytes(77)
      .withRecordCount(1)
      .withReferencedDataFile(of.location())
      .build()
    table.delete(deletes)
    deletes
  }

  /** Expires all but the newest `retain` snapshots; their files are deleted only if `level` includes them. */
  def expire(retain: Int, level: CleanupLevel = CleanupLevel.NONE): Unit =
    table.load().expireSnapshots().expireOlderThan(Long.MaxValue).retainLast(retain).cleanupLevel(level).commit()

  /** Merges manifests of fewer bytes into one. */
  def rewriteManifests(smallerThan: Long): Unit =
    table.load().rewriteManifests().clusterBy(_ => 0).rewriteIf(_.length() < smallerThan).commit()

  def index: Option[SnapshotIndex] = process.tables.of(table.load()).get(SnapshotKey.of(table.current))

  def isIndexed: Boolean = index.isDefined

  /** Lets the background worker cover the current snapshot and write the store now. */
  def maintain(settings: PlannerSettings = Maintained.Persist): Unit = {
    process.index.use(settings)
    process.upkeep.enqueue(table.load(), table.current, settings)
    require(process.upkeep.await(60000), "upkeep did not end")
  }

  /** Plans several filters, and compares each plan with Iceberg's own, field by field. */
  def differences(settings: PlannerSettings = Planning.Off): Seq[String] =
    Maintained.filters(fileCount).flatMap { filter =>
      val ours = Planning.ours(table, filter, settings)
      Planning.difference(ours.tasks, Planning.stock(table, filter)).map(what => s"$filter, ${ours.mode}: $what")
    }
}

object Maintained {
  val Persist: PlannerSettings = PlannerSettings(upkeep = UpkeepMode.Persist)

  def filters(files: Int): Seq[Expression] = Seq(
    Expressions.alwaysTrue(),
    Expressions.equal("id", 15L),
    Expressions.and(Expressions.greaterThanOrEqual("id", files * 5L), Expressions.lessThan("id", files * 5L + 40))
  )

  /** What a plan in a JVM that knows nothing reads of the store: files and bytes. */
  def coldReads(table: TestTable)(implicit process: TestProcess): (Int, Long) = {
    process.restart()
    table.io.resetCounts()
    Planning.ours(table, Expressions.equal("id", 15L))
    val read = table.io.readLocations(zonemap.iceberg.testing.FileKind.Store)
    (read.size, read.distinct.map(table.io.bytes(_).length.toLong).sum)
  }

  def settled(settings: PlannerSettings)(change: UpkeepSettings => UpkeepSettings): PlannerSettings =
    settings.copy(maintenance = change(settings.maintenance))
}
