// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.explain

import java.net.URI
import java.util.concurrent.{CountDownLatch, TimeUnit}

import org.apache.hadoop.fs.{FileStatus, FSDataInputStream, Path, RawLocalFileSystem}

/** Local files under the scheme `hang`. While it hangs, no read of an index store returns. */
class HangingFileSystem extends RawLocalFileSystem {
  import HangingFileSystem._

  override def getScheme: String = Scheme
  override def getUri: URI = Root

  override def open(path: Path, bufferSize: Int): FSDataInputStream = {
    awaitRelease(path)
    super.open(path, bufferSize)
  }

  override def listStatus(path: Path): Array[FileStatus] = {
    awaitRelease(path)
    super.listStatus(path)
  }

  private def awaitRelease(path: Path): Unit =
    if (path.toString.contains("_zonemaps_v2")) released.await(LongestSeconds, TimeUnit.SECONDS): Unit
}

object HangingFileSystem {
  val Scheme = "hang"
  private val Root = URI.create(s"$Scheme:///")

  /** The end of a read in a test that does not release it. */
  private val LongestSeconds = 120L

  @volatile private var released = new CountDownLatch(0)

  /** Makes the reads that `body` causes hang, until it has returned. */
  def hangDuring[A](body: => A): A = {
    released = new CountDownLatch(1)
    try body
    finally released.countDown()
  }
}
