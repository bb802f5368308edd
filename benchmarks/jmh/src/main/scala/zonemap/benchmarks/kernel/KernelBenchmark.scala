// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.kernel

import java.util.SplittableRandom
import java.util.concurrent.TimeUnit

import org.openjdk.jmh.annotations._

import zonemap.core.column.Bitmap
import zonemap.core.eval.SegmentEvaluator
import zonemap.core.predicate.{And, ColumnRef, Compare, CompareColumns, CompareOp, In, Or, Predicate, SortedValues}
import zonemap.core.segment.Segment
import zonemap.core.value.{LongValue, ZoneValue, ZoneValues}

/**
 * Evaluates one predicate on all files of a table, on one thread: from codes in memory to the bitmaps of the retained
 * files. The benchmark excludes all later steps of planning.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Array(Mode.SampleTime))
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 4, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(value = 1, jvmArgs = Array("-Xms2g", "-Xmx2g", "-XX:+UseSerialGC"))
class KernelBenchmark {

  @Param(Array("2700000"))
  var files: Int = _

  @Param(
    Array(
      "seq range: clustered, 2 leaves",
      "app = c: exact codes",
      "app IN 250: exact codes",
      "score > c: double, exact bounds",
      "spread >= c: rounded bounds",
      "low IN 1000",
      "low IN 100000",
      "low < high: two columns",
      "app = c AND score > c: 2 leaves",
      "app = c OR score > c: 2 leaves"
    ))
  var predicate: String = _

  private var segments: IndexedSeq[(Segment, Bitmap)] = _
  private var asked: Predicate = _

  @Setup
  def open(): Unit = {
    segments = KernelSegments.open(files).map(segment => (segment, Bitmap.full(segment.rows)))
    asked = KernelBenchmark.predicates(files)(predicate)
    println(s"# ${evaluate()} of $files files are left")
  }

  @Benchmark
  def evaluate(): Int = {
    var left = 0
    segments.foreach { case (segment, all) => left += SegmentEvaluator.mayMatch(segment, asked, all).cardinality }
    left
  }
}

private object KernelBenchmark {
  private def column(name: String) = ColumnRef(KernelSegments.fieldIds(name), KernelSegments.typeOf(name), name)

  private def keys(count: Int): SortedValues = {
    val random = new SplittableRandom(7)
    SortedValues.ofLongs(Array.fill(count)(random.nextLong(1L << 30)))
  }

  def predicates(files: Int): Map[String, Predicate] = {
    def compare(name: String, op: CompareOp, value: ZoneValue) = Compare(column(name), op, value)
    val app = compare("app", CompareOp.Eq, ZoneValues.ofString("app-00500"))
    val score = compare("score", CompareOp.Gt, ZoneValues.ofDouble(900000.5))
    val apps = SortedValues.of((0 until 250).map(i => ZoneValues.ofString(f"app-${i * 3}%05d")))
    val middle = files * 500L
    Map(
      "seq range: clustered, 2 leaves" -> And(
        Seq(
          compare("seq", CompareOp.GtEq, LongValue(middle)),
          compare("seq", CompareOp.LtEq, LongValue(middle + 100000)))),
      "app = c: exact codes" -> app,
      "app IN 250: exact codes" -> In(column("app"), apps),
      "score > c: double, exact bounds" -> score,
      "spread >= c: rounded bounds" -> compare("spread", CompareOp.GtEq, LongValue((1L << 40) + 500000)),
      "low IN 1000" -> In(column("low"), keys(1000)),
      "low IN 100000" -> In(column("low"), keys(100000)),
      "low < high: two columns" -> CompareColumns(column("low"), CompareOp.Lt, column("high")),
      "app = c AND score > c: 2 leaves" -> And(Seq(app, score)),
      "app = c OR score > c: 2 leaves" -> Or(Seq(app, score))
    )
  }
}
