// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.testing

import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._

import org.apache.iceberg._
import org.apache.iceberg.exceptions.CommitFailedException
import org.apache.iceberg.io.LocationProvider

/** Table operations that keep the metadata in memory, and parse it again after every commit as a catalog would. */
final class MemoryTableOperations(override val io: MemoryFileIO, created: TableMetadata) extends TableOperations {
  private var metadata: TableMetadata = MemoryTableOperations.reparse(created, 0)
  private var version = 0

  override def current(): TableMetadata = synchronized(metadata)
  override def refresh(): TableMetadata = current()

  override def commit(base: TableMetadata, updated: TableMetadata): Unit = synchronized {
    if (base ne metadata) throw new CommitFailedException("The table has changed since version %s", version)
    version += 1
    metadata = MemoryTableOperations.reparse(updated, version)
  }

  override def metadataFileLocation(name: String): String = s"${current().location}/metadata/$name"
  override def locationProvider(): LocationProvider =
    LocationProviders.locationsFor(current().location, current().properties)
}

object MemoryTableOperations {
  private def reparse(metadata: TableMetadata, version: Int): TableMetadata =
    TableMetadataParser.fromJson(
      s"${metadata.location}/metadata/v$version.metadata.json",
      TableMetadataParser.toJson(metadata))
}

/** An Iceberg table in memory, without a catalog. */
final class TestTable(val operations: MemoryTableOperations, val name: String) {
  def io: MemoryFileIO = operations.io

  /** A new table object, as another session would load it. */
  def load(): BaseTable = new BaseTable(operations, name)

  /** Commits files as Spark's writer does. */
  def append(files: DataFile*): Snapshot = commit(files, _.set("spark.app.id", "tests"))

  /** Commits files as an import or another engine does. */
  def appendOfUnknownWriter(files: DataFile*): Snapshot = commit(files, identity)

  /** Commits files as a committer of append ingestion does. */
  def appendOfIngest(files: DataFile*): Snapshot = commit(files, _.set("zonemap.ingest.pointer", "tests"))

  private def commit(files: Seq[DataFile], mark: AppendFiles => AppendFiles): Snapshot = {
    val append = mark(load().newFastAppend())
    files.foreach(append.appendFile)
    append.commit()
    current
  }

  def delete(files: DeleteFile*): Snapshot = {
    val delta = load().newRowDelta()
    files.foreach(delta.addDeletes)
    delta.commit()
    current
  }

  def current: Snapshot = load().currentSnapshot()

  def schema: Schema = load().schema()

  def spec: PartitionSpec = load().spec()
}

object TestTable {
  // Iceberg plans a few small manifests faster in one thread
  System.setProperty("iceberg.scan.plan-in-worker-pool", "false")

  private val counter = new AtomicInteger

  def create(
      schema: Schema,
      spec: Schema => PartitionSpec = _ => PartitionSpec.unpartitioned(),
      formatVersion: Int = 2,
      properties: Map[String, String] = Map.empty): TestTable = {
    val name = s"t${counter.incrementAndGet()}"
    val all = properties + (TableProperties.FORMAT_VERSION -> formatVersion.toString)
    val metadata =
      TableMetadata.newTableMetadata(schema, spec(schema), SortOrder.unsorted(), s"mem://lake/$name", all.asJava)
    new TestTable(new MemoryTableOperations(new MemoryFileIO, metadata), name)
  }
}
