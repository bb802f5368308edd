// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.explain

import org.apache.iceberg.{TableMetadata, TableOperations}
import org.apache.iceberg.catalog.TableIdentifier
import org.apache.iceberg.encryption.{EncryptedFiles, EncryptedInputFile, EncryptedOutputFile, EncryptionManager}
import org.apache.iceberg.hadoop.HadoopCatalog
import org.apache.iceberg.io.{FileIO, InputFile, LocationProvider, OutputFile}

/** A catalog over the folder of another one, whose tables have an encryption manager. It changes no table. */
class ForgedCatalog extends HadoopCatalog {
  override protected def newTableOps(identifier: TableIdentifier): TableOperations =
    new ForgedTable(super.newTableOps(identifier))
}

private final class ForgedTable(real: TableOperations) extends TableOperations {
  override def current(): TableMetadata = real.current()
  override def refresh(): TableMetadata = real.refresh()
  override def commit(base: TableMetadata, metadata: TableMetadata): Unit =
    throw new UnsupportedOperationException("a forged table is only read")
  override def io(): FileIO = real.io()
  override def encryption(): EncryptionManager = OpenEncryption
  override def metadataFileLocation(fileName: String): String = real.metadataFileLocation(fileName)
  override def locationProvider(): LocationProvider = real.locationProvider()
}

/** Marks a table as encrypted; its files are plain. */
private object OpenEncryption extends EncryptionManager {
  override def decrypt(encrypted: EncryptedInputFile): InputFile = encrypted.encryptedInputFile()
  override def encrypt(raw: OutputFile): EncryptedOutputFile = EncryptedFiles.plainAsEncryptedOutput(raw)
}
