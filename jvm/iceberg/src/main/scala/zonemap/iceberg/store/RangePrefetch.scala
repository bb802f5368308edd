package zonemap.iceberg.store

import java.nio.{ByteBuffer, ByteOrder}
import java.util.concurrent.{CompletableFuture, ConcurrentHashMap}

import scala.collection.mutable
import scala.util.control.NonFatal

import zonemap.core.io.ByteRange

/**
 * Ranges of one file that are being fetched ahead of their reads: neighbours in one request, requests side by side.
 *
 * What was fetched is handed to [[ColdCache]] range by range, as if it had been read; only what is under way is held
 * here. A failure is no failure yet: whoever reads the range asks again. Thread-safe.
 *
 * @param fetch reads bytes of the file, on any thread
 * @param cached the name of a range in the cold cache
 */
private[store] final class RangePrefetch(
    fetch: ByteRange => ByteBuffer,
    cached: ByteRange => ColdRange,
    access: StoreAccess) {
  import RangePrefetch._

  private val underWay = new ConcurrentHashMap[ByteRange, Run]

  def start(ranges: Seq[ByteRange]): Unit = {
    val missing = ranges.distinct.filter(r => r.length > 0 && !underWay.containsKey(r) && !access.cold.has(cached(r)))
    val hasRoom = missing.iterator.map(_.length.toLong).sum <= access.cold.settings.memoryMaxBytes / 2
    if (hasRoom && missing.nonEmpty && !access.fetches.isStuck(cached(missing.head).root))
      coalesced(missing).foreach { parts =>
        val run = new Run(parts)
        parts.foreach(underWay.put(_, run))
        try access.fetches.execute(storeOf(run))(carryOut(run))
        catch { case e: Throwable => end(run, null); throw e }
      }
  }

  /** The bytes of a range that is being fetched, when they are there. */
  def await(range: ByteRange): Option[ByteBuffer] =
    Option(underWay.get(range)).flatMap { run =>
      val bytes = StoreBudget.await(storeOf(run), run.bytes, () => System.nanoTime() - run.startedNanos)
      Option(bytes).map(copied(_, run.whole, range))
    }

  private def storeOf(run: Run): String = cached(run.parts.head).root

  private def carryOut(run: Run): Unit = {
    // null for readers of a failed run, who find nothing and fetch for themselves
    var bytes: ByteBuffer = null
    try {
      val fetched = fetch(run.whole)
      run.parts.foreach(part => access.cold.read(cached(part))(copied(fetched, run.whole, part)))
      bytes = fetched
    } catch { case NonFatal(_) => () }
    finally end(run, bytes)
  }

  /** In this order: who finds no run under way finds what it fetched in the cache. */
  private def end(run: Run, bytes: ByteBuffer): Unit = {
    run.parts.foreach(underWay.remove(_, run))
    run.bytes.complete(bytes): Unit
  }
}

private object RangePrefetch {

  /** A wait for another request costs more than this many bytes that nobody asked for. */
  private val MaxGapBytes = 128 << 10

  /** Longer runs are fetched in parts, side by side. */
  private val MaxRunBytes = 4 << 20

  private final class Run(val parts: Seq[ByteRange]) {
    val whole: ByteRange = ByteRange(parts.head.offset, (parts.last.end - parts.head.offset).toInt)
    val bytes = new CompletableFuture[ByteBuffer]
    val startedNanos: Long = System.nanoTime()
  }

  /** Ranges that are near one another, in the order of the file. Those that overlap are of different runs. */
  def coalesced(ranges: Seq[ByteRange]): Seq[Seq[ByteRange]] = {
    val runs = mutable.ArrayBuffer.empty[mutable.ArrayBuffer[ByteRange]]
    ranges.sortBy(_.offset).foreach { next =>
      val joins = runs.lastOption.exists { run =>
        val gap = next.offset - run.last.end
        gap >= 0 && gap <= MaxGapBytes && next.end - run.head.offset <= MaxRunBytes
      }
      if (joins) runs.last += next else runs += mutable.ArrayBuffer(next)
    }
    runs.iterator.map(_.toSeq).toSeq
  }

  /** A copy, so that no range keeps the memory of its neighbours. */
  private def copied(bytes: ByteBuffer, whole: ByteRange, part: ByteRange): ByteBuffer =
    ByteBuffer
      .allocateDirect(part.length)
      .put(bytes.slice((part.offset - whole.offset).toInt, part.length))
      .flip()
      .order(ByteOrder.LITTLE_ENDIAN)
}
