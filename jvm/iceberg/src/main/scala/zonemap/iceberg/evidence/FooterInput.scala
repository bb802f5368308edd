// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.evidence

import java.io.{ByteArrayInputStream, EOFException}
import java.nio.{ByteBuffer, ByteOrder}

import org.apache.iceberg.io.{IOUtil, InputFile => IcebergFile, RangeReadable}
import org.apache.iceberg.shaded.org.apache.parquet.ParquetReadOptions
import org.apache.iceberg.shaded.org.apache.parquet.conf.PlainParquetConfiguration
import org.apache.iceberg.shaded.org.apache.parquet.hadoop.ParquetFileReader
import org.apache.iceberg.shaded.org.apache.parquet.hadoop.metadata.ParquetMetadata
import org.apache.iceberg.shaded.org.apache.parquet.io.{DelegatingSeekableInputStream, InputFile, SeekableInputStream}

/** Reads the footers of data files through Iceberg's FileIO. */
private[evidence] object FooterInput {

  /** Bytes of the first read of a file; most footers fit, so that a store is asked once for each file. */
  private val FirstRead = 64 * 1024

  /** The length of the footer and the magic bytes, at the end of each Parquet file. */
  private val Trailer = 8

  /** The footer of a Parquet file; an error of the storage or of the file's bytes reaches the caller. */
  def parquet(file: IcebergFile): ParquetMetadata = {
    val bytes = tail(file) { end =>
      if (end.length < Trailer) 0L
      else ByteBuffer.wrap(end).order(ByteOrder.LITTLE_ENDIAN).getInt(end.length - Trailer).toLong + Trailer
    }
    val reader = ParquetFileReader.open(new FileEnd(file, bytes), options)
    try reader.getFooter
    finally reader.close()
  }

  private def options = ParquetReadOptions.builder(new PlainParquetConfiguration()).build()

  /**
   * The last bytes of a file: at least as many as `lengthOf` finds in them, or all that the file has. The libraries that
   * decode them refuse a length that no file of this length can have.
   */
  def tail(file: IcebergFile)(lengthOf: Array[Byte] => Long): Array[Byte] = {
    val first = end(file, math.min(FirstRead.toLong, file.getLength))
    val wanted = lengthOf(first)
    if (wanted <= first.length || wanted > file.getLength) first else end(file, wanted)
  }

  /** The last bytes of a file. */
  private def end(file: IcebergFile, length: Long): Array[Byte] = {
    val bytes = new Array[Byte](Math.toIntExact(length))
    val stream = file.newStream()
    try {
      val position = file.getLength - length
      stream match {
        case ranges: RangeReadable => ranges.readFully(position, bytes)
        case _ =>
          stream.seek(position)
          IOUtil.readFully(stream, bytes, 0, bytes.length)
      }
      bytes
    } finally stream.close()
  }

  /** A file of which only the last bytes can be read. */
  private final class FileEnd(file: IcebergFile, bytes: Array[Byte]) extends InputFile {
    override def getLength: Long = file.getLength
    override def newStream(): SeekableInputStream = new EndStream(new EndBytes(bytes, file.getLength - bytes.length))
    override def toString: String = file.location()
  }

  private final class EndStream(bytes: EndBytes) extends DelegatingSeekableInputStream(bytes) {
    override def getPos: Long = bytes.position
    override def seek(position: Long): Unit = bytes.moveTo(position)
  }

  /** Bytes of a file from `start` to its end. */
  private final class EndBytes(bytes: Array[Byte], start: Long) extends ByteArrayInputStream(bytes) {
    def position: Long = start + pos

    def moveTo(position: Long): Unit =
      if (position < start || position > start + count) throw new EOFException(s"Byte $position is not in the footer.")
      else pos = (position - start).toInt
  }
}
