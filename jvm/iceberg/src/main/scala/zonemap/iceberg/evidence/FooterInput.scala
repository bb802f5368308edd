package zonemap.iceberg.evidence

import org.apache.iceberg.io.{InputFile => IcebergFile, SeekableInputStream => IcebergStream}
import org.apache.iceberg.shaded.org.apache.parquet.ParquetReadOptions
import org.apache.iceberg.shaded.org.apache.parquet.conf.PlainParquetConfiguration
import org.apache.iceberg.shaded.org.apache.parquet.hadoop.ParquetFileReader
import org.apache.iceberg.shaded.org.apache.parquet.hadoop.metadata.ParquetMetadata
import org.apache.iceberg.shaded.org.apache.parquet.io.{DelegatingSeekableInputStream, InputFile, SeekableInputStream}

/** Reads the footer of a Parquet file through Iceberg's FileIO, with the Parquet library of Iceberg's runtime. */
private[evidence] object FooterInput {

  /** The footer; an error of the storage or of the file's bytes reaches the caller. */
  def read(file: IcebergFile): ParquetMetadata = {
    val options = ParquetReadOptions.builder(new PlainParquetConfiguration()).build()
    val reader = ParquetFileReader.open(new Adapted(file), options)
    try reader.getFooter
    finally reader.close()
  }

  private final class Adapted(file: IcebergFile) extends InputFile {
    override def getLength: Long = file.getLength
    override def newStream(): SeekableInputStream = new AdaptedStream(file.newStream())
    override def toString: String = file.location()
  }

  private final class AdaptedStream(stream: IcebergStream) extends DelegatingSeekableInputStream(stream) {
    override def getPos: Long = stream.getPos
    override def seek(position: Long): Unit = stream.seek(position)
  }
}
