// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.strategies

import org.apache.hadoop.conf.Configuration
import org.apache.iceberg.hadoop.HadoopFileIO
import org.apache.iceberg.io.{InputFile, OutputFile}

/** Hadoop's FileIO that counts the files each thread opens, creates and deletes: the requests to an object store. */
final class CountingFileIO(conf: Configuration) extends HadoopFileIO(conf) {
  def this() = this(new Configuration)

  override def newInputFile(path: String): InputFile = { CountingFileIO.count(); super.newInputFile(path) }

  override def newInputFile(path: String, length: Long): InputFile = {
    CountingFileIO.count()
    super.newInputFile(path, length)
  }

  override def newOutputFile(path: String): OutputFile = { CountingFileIO.count(); super.newOutputFile(path) }

  override def deleteFile(path: String): Unit = { CountingFileIO.count(); super.deleteFile(path) }
}

object CountingFileIO {
  private val requests = ThreadLocal.withInitial[Array[Long]](() => Array(0L))

  private def count(): Unit = requests.get()(0) += 1

  /** The number of requests of the calling thread during `work`. */
  def counted(work: => Unit): Long = {
    val before = requests.get()(0)
    work
    requests.get()(0) - before
  }
}
