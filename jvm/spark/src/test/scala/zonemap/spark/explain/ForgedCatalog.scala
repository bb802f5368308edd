package zonemap.spark.explain

import java.util.Locale

import org.apache.iceberg.{LocationProviders, TableMetadata, TableMetadataParser, TableOperations}
import org.apache.iceberg.catalog.TableIdentifier
import org.apache.iceberg.encryption.{EncryptedFiles, EncryptedInputFile, EncryptedOutputFile, EncryptionManager}
import org.apache.iceberg.hadoop.HadoopCatalog
import org.apache.iceberg.io.{FileIO, InputFile, LocationProvider, OutputFile}

/**
 * A catalog over the folder of another one, whose tables have metadata that Spark cannot write: that of the table
 * `no_uuid` has no uuid, and the table `encrypted` has an encryption manager. It reads tables and changes none.
 */
class ForgedCatalog extends HadoopCatalog {
  override protected def newTableOps(identifier: TableIdentifier): TableOperations =
    identifier.name().toLowerCase(Locale.ROOT) match {
      case "no_uuid" =>
        new ForgedTable(super.newTableOps(identifier)) {
          override protected def forged(metadata: TableMetadata): TableMetadata =
            TableMetadataParser.fromJson(
              metadata.metadataFileLocation(),
              TableMetadataParser.toJson(metadata).replaceAll("\"table-uuid\":\"[^\"]*\",", ""))
        }
      case "encrypted" =>
        new ForgedTable(super.newTableOps(identifier)) {
          override def encryption(): EncryptionManager = OpenEncryption
        }
      case _ => super.newTableOps(identifier)
    }
}

private abstract class ForgedTable(real: TableOperations) extends TableOperations {
  protected def forged(metadata: TableMetadata): TableMetadata = metadata

  private def of(metadata: TableMetadata): TableMetadata = if (metadata == null) null else forged(metadata)

  override def current(): TableMetadata = of(real.current())
  override def refresh(): TableMetadata = of(real.refresh())
  override def commit(base: TableMetadata, metadata: TableMetadata): Unit =
    throw new UnsupportedOperationException("a forged table is only read")
  override def io(): FileIO = real.io()
  override def metadataFileLocation(fileName: String): String = real.metadataFileLocation(fileName)
  override def locationProvider(): LocationProvider =
    LocationProviders.locationsFor(current().location(), current().properties())
}

/** Marks a table as encrypted; its files are plain. */
private object OpenEncryption extends EncryptionManager {
  override def decrypt(encrypted: EncryptedInputFile): InputFile = encrypted.encryptedInputFile()
  override def encrypt(raw: OutputFile): EncryptedOutputFile = EncryptedFiles.plainAsEncryptedOutput(raw)
}
