// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.store

import java.nio.ByteBuffer
import java.util.concurrent.{ConcurrentLinkedQueue, CountDownLatch, TimeUnit}

import scala.jdk.CollectionConverters._

import org.scalatest.BeforeAndAfterEach
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.io.ByteRange
import zonemap.iceberg.settings.ColdSettings
import zonemap.iceberg.testing.OwnProcess

/** Ranges that are asked for ahead: which requests they become, and who gets the bytes. */
class RangePrefetchTest extends AnyFunSuite with BeforeAndAfterEach with OwnProcess {
  private val fetched = new ConcurrentLinkedQueue[ByteRange]
  private def cold = process.access.cold
  private def cached(range: ByteRange) = ColdRange("mem://store", "a", range.offset, range.length)

  override def beforeEach(): Unit = afterEach()
  override def afterEach(): Unit = {
    process.restart()
    fetched.clear()
  }

  /** The file holds, at each offset, the last byte of the offset. */
  private def bytes(range: ByteRange): ByteBuffer =
    ByteBuffer.wrap(Array.tabulate(range.length)(i => (range.offset + i).toByte))

  private def prefetch(before: ByteRange => Unit = _ => ()): RangePrefetch =
    new RangePrefetch(range => { before(range); fetched.add(range); bytes(range) }, cached, process.access)

  private def isRight(range: ByteRange, found: ByteBuffer) = found.duplicate().rewind() == bytes(range)

  test("neighbours are one request, far ones are requests of their own, and long runs are split") {
    def runs(ranges: ByteRange*) = RangePrefetch.coalesced(ranges)
    val (a, b, far) = (ByteRange(0, 100), ByteRange(5000, 100), ByteRange(1 << 20, 100))
    assert(runs(far, b, a) == Seq(Seq(a, b), Seq(far)))
    assert(runs(ByteRange(0, 100), ByteRange(50, 100)).size == 2, "ranges that overlap")
    val megabytes = (0 until 20).map(i => ByteRange(i.toLong << 20, 1 << 20))
    assert(RangePrefetch.coalesced(megabytes) == megabytes.grouped(4).toSeq)
    assert(runs() == Nil)
  }

  test("who reads while the request is under way waits for it; later the cold cache has it, range by range") {
    val gate = new CountDownLatch(1)
    val ahead = prefetch(_ => gate.await(30, TimeUnit.SECONDS): Unit)
    val ranges = Seq(ByteRange(10, 100), ByteRange(4000, 77))
    ahead.start(ranges)
    ahead.start(ranges)
    val reader = new Thread(() => gate.countDown())
    reader.start()
    ranges.foreach { range =>
      val awaited = ahead.await(range)
      val found = cold.read(cached(range))(awaited.getOrElse(fail("nobody fetches it")))
      assert(isRight(range, found))
    }
    assert(fetched.asScala.toSeq == Seq(ByteRange(10, 4067)))
    cold.clear()
    assert(ranges.forall(ahead.await(_).isEmpty), "what is done is not kept here")
  }

  test("a request that fails leaves the range to its reader") {
    val ahead = prefetch(_ => throw new IllegalStateException("no luck"))
    val range = ByteRange(0, 10)
    ahead.start(Seq(range))
    assert(ahead.await(range).isEmpty && !cold.has(cached(range)))
  }

  test("what the cold cache has or has no room for is not fetched") {
    val ahead = prefetch()
    val range = ByteRange(0, 100)
    cold.read(cached(range))(bytes(range))
    ahead.start(Seq(range))
    cold.use(ColdSettings(memoryMaxBytes = 150))
    ahead.start(Seq(ByteRange(200, 80)))
    assert(ahead.await(range).isEmpty && ahead.await(ByteRange(200, 80)).isEmpty && fetched.isEmpty)
  }
}
