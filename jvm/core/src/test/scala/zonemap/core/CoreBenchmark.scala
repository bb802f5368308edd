package zonemap.core

import zonemap.core.eval._
import zonemap.core.predicate._
import zonemap.core.segment._
import zonemap.core.value._

/**
 * Sizes and kernel times on one thread; run with `dev/sbt 'core/Test/runMain zonemap.core.CoreBenchmark'` or the test
 * class path. Twenty columns: 7 strings, 6 longs, 4 doubles, 3 timestamps; clustered, random and low-cardinality ones.
 */
object CoreBenchmark {
  private val random = new java.util.SplittableRandom(42)

  private def span(a: Long, width: Long) =
    ColumnBounds(LongValue(a), LongValue(a + width), tight = true, Presence.None, Presence.None)

  private def text(a: String, b: String) =
    ColumnBounds(ZoneValues.ofString(a), ZoneValues.ofString(b), tight = false, Presence.None, Presence.None)

  private def bounds(column: Int, row: Int): ColumnBounds = column match {
    case 0 | 1 | 2  => span(row * 1000L * (column + 1), 999)
    case 3 | 4      => span(random.nextLong(1L << 20), 1L << 40)
    case 5          => span(1, 1)
    case 6 | 7      => text(f"app-${row % 1000}%05d", f"app-${row % 1000 + 1}%05d")
    case 8 | 9 | 10 => text(s"region-${row % 96}", s"region-${row % 96}")
    case 11 | 12    => text(java.lang.Long.toHexString(random.nextLong()), "~")
    case 13 | 14 | 15 | 16 =>
      val d = random.nextDouble()
      ColumnBounds(ZoneValues.ofDouble(d), ZoneValues.ofDouble(d + 1000), tight = true, Presence.None, Presence.None)
    case _ => span(1700000000000000L + row * 1000000L, 10000000L)
  }

  private val types: Seq[ColumnType] = Seq.tabulate(20) {
    case c if c <= 5  => LongType
    case c if c <= 12 => StringType
    case c if c <= 16 => DoubleType
    case _            => TimestampTzType
  }

  private def build(rows: Int): Array[Byte] = {
    val builder = new SegmentBuilder(types.zipWithIndex.map { case (t, i) => ColumnSpec(i + 1, t) })
    builder.beginManifest(TestModel.manifest(0))
    (0 until rows).foreach { row =>
      val partition = builder.partition(0, Array(Int.box(row / 1004), s"region-${row % 96}"))
      val job = new java.util.UUID(row / 32, 77).toString
      val file = FileEntry(
        s"s3://bucket/warehouse/db/events/data/ts_day=2026-01-${row / 40000 + 1}/region=region-${row % 96}/${row % 32}%05d-${row}-$job-0-00001.parquet",
        "PARQUET",
        30000000L + random.nextInt(9000000),
        13000 + random.nextInt(900),
        partition,
        row / 32,
        row / 32,
        row * 14000L,
        0,
        Array(4L)
      )
      builder.add(file, Array.tabulate(20)(c => bounds(c, row)))
    }
    builder.build()
  }

  private def time(what: String, rows: Int, leaves: Int)(body: => Bitmap): Unit = {
    (0 until 60).foreach(_ => body)
    val runs = Seq
      .fill(30) {
        val start = System.nanoTime()
        body
        System.nanoTime() - start
      }
      .sorted
    println(
      f"$what%-44s ${runs.head / 1e6}%8.3f ms min ${runs(15) / 1e6}%8.3f med, ${runs.head.toDouble / rows / leaves}%6.2f ns per row and leaf, ${body.cardinality} kept")
  }

  def main(args: Array[String]): Unit = {
    (0 until 5).foreach(_ => build(32))
    Seq(32, 100000).foreach { rows =>
      val start = System.nanoTime()
      val bytes = build(rows)
      val spent = (System.nanoTime() - start) / 1e3 / rows
      val s = Segment.open(bytes)
      val codes = (1 to 20).map(s.encodedBytes).sum
      println(
        f"$rows%7d files x 20 columns: ${bytes.length}%d bytes, ${bytes.length.toDouble / rows}%.1f a file (columns ${codes.toDouble / rows}%.1f); $spent%.1f us a file to build")
      (1 to 20).foreach(c => print(f"${types(c - 1).text}:${s.encodedBytes(c).toDouble / rows}%.1f "))
      println()
    }
    val rows = if (args.isEmpty) 1000000 else args(0).toInt
    kernels(rows, Segment.open(build(rows)))
  }

  private def kernels(rows: Int, s: Segment): Unit = {
    val all = Bitmap.full(rows)
    val random = ColumnRef(4, LongType, "random")
    val app = ColumnRef(7, StringType, "app")
    val seq = ColumnRef(1, LongType, "seq")
    val score = ColumnRef(14, DoubleType, "score")
    val keys = Array.fill(1000)(this.random.nextLong(1L << 41))
    val some = SortedValues.of((0 until 250).map(i => ZoneValues.ofString(f"app-${i * 3}%05d")))
    time("random long >= c, exact codes or not", rows, 1)(
      SegmentEvaluator.mayMatch(s, Compare(random, CompareOp.GtEq, LongValue((1L << 40) + 500000)), all))
    time("app = c, dictionary exact", rows, 1)(
      SegmentEvaluator.mayMatch(s, Compare(app, CompareOp.Eq, ZoneValues.ofString("app-00500")), all))
    time("app IN 250", rows, 1)(SegmentEvaluator.mayMatch(s, In(app, some), all))
    time("score > c (double)", rows, 1)(
      SegmentEvaluator.mayMatch(s, Compare(score, CompareOp.Gt, ZoneValues.ofDouble(1000.5)), all))
    time("random long IN 1,000", rows, 1)(SegmentEvaluator.mayMatch(s, In(random, SortedValues.ofLongs(keys)), all))
    time("clustered seq range (two leaves)", rows, 2)(
      SegmentEvaluator.mayMatch(
        s,
        And(
          Seq(
            Compare(seq, CompareOp.GtEq, LongValue(rows * 500L)),
            Compare(seq, CompareOp.LtEq, LongValue(rows * 500L + 100000)))),
        all))
    time("app = c AND random >= c (two leaves)", rows, 2)(
      SegmentEvaluator.mayMatch(
        s,
        And(
          Seq(
            Compare(app, CompareOp.Eq, ZoneValues.ofString("app-00500")),
            Compare(random, CompareOp.GtEq, LongValue(1L << 40)))),
        all))
  }
}
