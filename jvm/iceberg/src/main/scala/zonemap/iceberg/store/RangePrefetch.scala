// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.store

import java.nio.{ByteBuffer, ByteOrder}
import java.util.concurrent.{CompletableFuture, ConcurrentHashMap}

import scala.collection.mutable
import scala.util.control.NonFatal

import zonemap.core.io.ByteRange

/**
 * Fetches ranges of one file before they are read: one request for neighbouring ranges, several requests in parallel.
 *
 * Fetched bytes go to [[ColdCache]] range by range, as if they had been read; this object retains only fetches that are
 * under way. A failed fetch is not reported: the reader of the range fetches it again. Thread-safe.
 *
 * @param fetch reads bytes of the file, on any thread
 * @param cached the key of a range in the cold cache
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

  /** Waits for the bytes of a range that is being fetched; `None` if no fetch is under way or the fetch failed. */
  def await(range: ByteRange): Option[ByteBuffer] =
    Option(underWay.get(range)).flatMap { run =>
      val bytes = StoreBudget.await(storeOf(run), run.bytes, () => System.nanoTime() - run.startedNanos)
      Option(bytes).map(copied(_, run.whole, range))
    }

  private def storeOf(run: Run): String = cached(run.parts.head).root

  private def carryOut(run: Run): Unit = {
    // null if the fetch fails: the readers then fetch the range themselves
    var bytes: ByteBuffer = null
    try {
      val fetched = fetch(run.whole)
      run.parts.foreach(part => access.cold.read(cached(part))(copied(fetched, run.whole, part)))
      bytes = fetched
    } catch { case NonFatal(_) => () }
    finally end(run, bytes)
  }

  /**
   * Ends a fetch after its bytes are in the cache: a reader that no longer finds the fetch under way finds the bytes in
   * the cache.
   */
  private def end(run: Run, bytes: ByteBuffer): Unit = {
    run.parts.foreach(underWay.remove(_, run))
    run.bytes.complete(bytes): Unit
  }
}

private object RangePrefetch {

  /**
   * The largest gap between two ranges of one request: another request takes longer than reading these unused bytes.
   */
  private val MaxGapBytes = 128 << 10

  /** The largest size of one request; longer runs are split into parallel requests. */
  private val MaxRunBytes = 4 << 20

  private final class Run(val parts: Seq[ByteRange]) {
    val whole: ByteRange = ByteRange(parts.head.offset, (parts.last.end - parts.head.offset).toInt)
    val bytes = new CompletableFuture[ByteBuffer]
    val startedNanos: Long = System.nanoTime()
  }

  /**
   * Groups ranges that are near one another, in the order of the file. Overlapping ranges belong to different groups.
   */
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

  /** A copy of one range, so that the range does not retain the memory of its neighbours. */
  private def copied(bytes: ByteBuffer, whole: ByteRange, part: ByteRange): ByteBuffer =
    ByteBuffer
      .allocateDirect(part.length)
      .put(bytes.slice((part.offset - whole.offset).toInt, part.length))
      .flip()
      .order(ByteOrder.LITTLE_ENDIAN)
}
