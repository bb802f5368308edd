// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.testing

import org.apache.iceberg._
import org.apache.iceberg.exceptions.CommitFailedException
import org.apache.iceberg.io.LocationProvider

/** Table operations that keep the metadata as numbered files of a folder, so that several processes read them. */
final class FolderTableOperations(override val io: FolderFileIO) extends TableOperations {
  import FolderTableOperations._

  private var known = Option.empty[(Int, TableMetadata)]

  override def current(): TableMetadata = synchronized(known.fold(refresh())(_._2))

  override def refresh(): TableMetadata = synchronized {
    val newest = versions(io).max
    if (!known.exists(_._1 == newest)) known = Some(newest -> TableMetadataParser.read(io, location(newest)))
    known.get._2
  }

  /** Reads the newest metadata again, after a test has changed its file. */
  def forget(): Unit = synchronized { known = None }

  override def commit(base: TableMetadata, updated: TableMetadata): Unit = synchronized {
    if (base.metadataFileLocation() != refresh().metadataFileLocation())
      throw new CommitFailedException("The table has changed since %s", base.metadataFileLocation())
    write(io, known.get._1 + 1, updated)
    refresh(): Unit
  }

  override def metadataFileLocation(name: String): String = s"$Metadata$name"

  override def locationProvider(): LocationProvider =
    LocationProviders.locationsFor(current().location, current().properties)
}

object FolderTableOperations {
  private val Table = s"${FolderFileIO.Root}t"
  private val Metadata = s"$Table/metadata/"
  private val Suffix = ".metadata.json"

  /** Writes the first metadata of a table without snapshots. */
  def create(io: FolderFileIO, schema: Schema): Unit =
    write(
      io,
      0,
      TableMetadata.newTableMetadata(
        schema,
        PartitionSpec.unpartitioned(),
        SortOrder.unsorted(),
        Table,
        java.util.Map.of(TableProperties.FORMAT_VERSION, "2"))
    )

  /** The location of the newest metadata. */
  def newest(io: FolderFileIO): String = location(versions(io).max)

  private def location(version: Int): String = f"$Metadata$version%05d$Suffix"

  private def versions(io: FolderFileIO): Seq[Int] =
    io.locations.filter(l => l.startsWith(Metadata) && l.endsWith(Suffix)).map { found =>
      found.stripPrefix(Metadata).stripSuffix(Suffix).toInt
    }

  private def write(io: FolderFileIO, version: Int, metadata: TableMetadata): Unit =
    TableMetadataParser.write(metadata, io.newOutputFile(location(version)))
}
