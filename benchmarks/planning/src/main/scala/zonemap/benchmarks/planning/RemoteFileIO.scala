// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.planning

import java.net.URI
import java.util.concurrent.atomic.LongAdder
import java.util.{Map => JMap}

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.RawLocalFileSystem
import org.apache.iceberg.BaseTable
import org.apache.iceberg.hadoop.{HadoopFileIO, HadoopTables}
import org.apache.iceberg.io.{FileIO, InputFile, OutputFile, SeekableInputStream}

/** The number of requests and bytes of one measured run. */
final case class Traffic(requests: Long, bytes: Long)

/**
 * Local files that behave like files of an object store: every ranged read is a counted request with a latency.
 *
 * A request is the first read of a stream, the first read after a seek to another position, or a look-up of a file
 * length that the caller does not know. A location that begins with `slow:` denotes a local file as well, but is not
 * recognised as local ([[SlowFileSystem]]). Thread-safe.
 *
 * @param requestMillis the latency of each request, added to the time of the read
 */
final class RemoteFileIO(requestMillis: Long, properties: Map[String, String] = Map.empty) extends FileIO {
  private val files = new HadoopFileIO(new Configuration)
  private val requests = new LongAdder
  private val bytes = new LongAdder

  /** The requests and bytes since the last call. */
  def traffic(): Traffic = Traffic(requests.sumThenReset(), bytes.sumThenReset())

  private def request(): Unit = {
    requests.increment()
    if (requestMillis > 0) Thread.sleep(requestMillis)
  }

  private def local(path: String): String = path.replaceFirst("^slow:", "file:")

  override def properties(): JMap[String, String] = properties.asJava
  override def newInputFile(path: String): InputFile = new Input(path, files.newInputFile(local(path)), None)
  override def newInputFile(path: String, length: Long): InputFile =
    new Input(path, files.newInputFile(local(path), length), Some(length))
  override def newOutputFile(path: String): OutputFile = files.newOutputFile(local(path))
  override def deleteFile(path: String): Unit = files.deleteFile(local(path))

  private final class Input(path: String, file: InputFile, length: Option[Long]) extends InputFile {
    override def location(): String = path
    override def exists(): Boolean = { request(); file.exists() }
    override def getLength: Long = length.getOrElse { request(); file.getLength }
    override def newStream(): SeekableInputStream = new Stream(file.newStream())
  }

  private final class Stream(stream: SeekableInputStream) extends SeekableInputStream {
    private var isOpen = false

    private def counted(read: => Int): Int = {
      if (!isOpen) { request(); isOpen = true }
      val count = read
      if (count > 0) bytes.add(count.toLong)
      count
    }

    override def getPos: Long = stream.getPos
    override def seek(position: Long): Unit = if (position != stream.getPos) { stream.seek(position); isOpen = false }
    override def read(): Int = {
      var value = 0
      counted { value = stream.read(); if (value < 0) -1 else 1 }: Unit
      value
    }
    override def read(buffer: Array[Byte], offset: Int, length: Int): Int = counted(stream.read(buffer, offset, length))
    override def close(): Unit = stream.close()
  }
}

/**
 * Local files under the scheme `slow`, for the accesses through Hadoop to tables that must not be recognised as local.
 */
final class SlowFileSystem extends RawLocalFileSystem {
  override def getScheme: String = "slow"
  override def getUri: URI = URI.create("slow:///")
}

object SlowFileSystem {
  private val Conf = "fs.slow.impl"
  private val Class = classOf[SlowFileSystem].getName

  /** The location of a local path under the scheme. */
  def location(path: String): String = s"slow:$path"

  /** A Hadoop configuration that knows the scheme. */
  def configuration(): Configuration = {
    val configuration = new Configuration
    configuration.set(Conf, Class)
    configuration
  }

  /** The conf with which a Spark session knows the scheme. */
  val sparkConf: (String, String) = s"spark.hadoop.$Conf" -> Class

  /** Loads the table at a local path, without counting requests. */
  def load(path: String): BaseTable =
    new HadoopTables(configuration()).load(location(path)).asInstanceOf[BaseTable]
}
