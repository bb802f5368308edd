// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import org.apache.iceberg.{TableMetadata, TableOperations}
import org.apache.iceberg.encryption.EncryptionManager
import org.apache.iceberg.io.{FileIO, LocationProvider}

/**
 * Operations of a table whose metadata stays as it was when this object was created. Reads only: a query plans with it.
 * Unlike Iceberg's `StaticTableOperations`, it has the encryption of the table, and it keeps `live` reachable, because
 * a REST catalog closes the `FileIO` of operations that nothing refers to.
 */
private[scan] final class PinnedOperations(live: TableOperations) extends TableOperations {
  private val metadata = live.current()

  override def current(): TableMetadata = metadata
  override def refresh(): TableMetadata = metadata
  override def io(): FileIO = live.io()
  override def encryption(): EncryptionManager = live.encryption()
  override def metadataFileLocation(name: String): String = live.metadataFileLocation(name)
  override def locationProvider(): LocationProvider = live.locationProvider()

  override def commit(base: TableMetadata, changed: TableMetadata): Unit =
    throw new UnsupportedOperationException("Cannot commit to a table that a query is pinned to.")
}
