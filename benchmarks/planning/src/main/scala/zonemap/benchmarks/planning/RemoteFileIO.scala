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

/** Requests and bytes of one measured run. */
final case class Traffic(requests: Long, bytes: Long)

/**
 * Local files as an object store would serve them: every ranged read is a request that is counted and takes its time.
 *
 * A request is the first read of a stream, or the first after a seek elsewhere; so is asking for a length that the
 * caller does not know. Locations that begin with `slow:` are files too, which nobody takes for local ones ([[SlowFileSystem]]).
 * Thread-safe.
 *
 * @param requestMillis what each request takes besides the read itself
 */
final class RemoteFileIO(requestMillis: Long, properties: Map[String, String] = Map.empty) extends FileIO {
  private val files = new HadoopFileIO(new Configuration)
  private val requests = new LongAdder
  private val bytes = new LongAdder

  /** What was asked for since the last call. */
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

/** Local files under the scheme `slow`, for Hadoop's part in tables whose files nobody should take for local ones. */
final class SlowFileSystem extends RawLocalFileSystem {
  override def getScheme: String = "slow"
  override def getUri: URI = URI.create("slow:///")
}

object SlowFileSystem {
  private val Conf = "fs.slow.impl"
  private val Class = classOf[SlowFileSystem].getName

  /** The location of a local path. */
  def location(path: String): String = s"slow:$path"

  /** A Hadoop configuration that knows the scheme. */
  def configuration(): Configuration = {
    val configuration = new Configuration
    configuration.set(Conf, Class)
    configuration
  }

  /** The conf of a Spark session that knows the scheme. */
  val sparkConf: (String, String) = s"spark.hadoop.$Conf" -> Class

  /** The table at a local path, through files that nobody counts. */
  def load(path: String): BaseTable =
    new HadoopTables(configuration()).load(location(path)).asInstanceOf[BaseTable]
}
