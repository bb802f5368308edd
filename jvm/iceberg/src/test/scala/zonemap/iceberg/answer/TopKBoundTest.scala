// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.answer

import java.math.{BigDecimal => JBigDecimal, BigInteger}

import org.apache.iceberg.{PartitionSpec, Schema}
import org.apache.iceberg.expressions.Expressions
import org.apache.iceberg.types.Types
import org.apache.iceberg.types.Types.NestedField.optional
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.predicate.{ColumnRef, Compare, CompareOp, IsNull, NotNull, Or, Predicate, True, Unknown}
import zonemap.core.value.{DateType, DecimalType, IntType, LongType, LongValue, ZoneValue, ZoneValues}
import zonemap.iceberg.plan.{FewColumns, IndexQuestions, Planning}
import zonemap.iceberg.prune.LimitCut
import zonemap.iceberg.testing.{Rng, Stats, TestFiles, TestTable}

/** Computes bounds of first rows and cuts of a LIMIT, on files that exist in metadata only. */
class TopKBoundTest extends AnyFunSuite with FewColumns {
  import Planning._

  private def ids(lower: Long, upper: Long, nulls: Option[Long] = Some(0)): Map[String, Stats] =
    Map("id" -> Stats.range(lower, upper).copy(nulls = nulls))

  private def disjoint(files: Int): Seq[Map[String, Stats]] = (0 until files).map(k => ids(k * 10L, k * 10L + 9))

  private def ask(
      t: TestTable,
      column: ColumnRef = id,
      descending: Boolean = true,
      nullsFirst: Boolean = false,
      filter: Predicate = True,
      rows: Long = 3,
      known: Option[ZoneValue] = None,
      function: Option[SortFunction] = None): Option[(ZoneValue, Long)] = {
    val request = TopK(column, descending, nullsFirst, filter, rows, known, function)
    IndexQuestions.topK(relation(t, Covering).pinned, request).map(found => (found.value, found.kept))
  }

  private def long(v: Long): ZoneValue = ZoneValues.ofLong(v)

  private def from(v: Long): Predicate = Compare(id, CompareOp.GtEq, long(v))

  test("disjoint files: the fewest of them, counted from the best bound") {
    val t = table(disjoint(8): _*)
    assert(ask(t).contains((long(70), 1)))
    assert(ask(t, rows = 10).contains((long(70), 1)))
    assert(ask(t, rows = 11).contains((long(60), 2)))
    assert(ask(t, rows = 79).isEmpty, "nothing is pruned")
    assert(ask(t, rows = 81).isEmpty, "fewer rows than wanted")
    assert(ask(t, rows = 0).isEmpty)
    assert(ask(t, descending = false).contains((long(9), 1)))
    assert(ask(t, descending = false, rows = 25).contains((long(29), 3)))
  }

  test("overlapping files: T is the worst bound that counts, and files that reach over it stay") {
    val t = table(ids(0, 100), ids(50, 60), ids(55, 70), ids(10, 20))
    assert(ask(t).contains((long(55), 3)))
    assert(ask(t, rows = 20).contains((long(50), 3)))
    assert(ask(t, rows = 30).isEmpty)
    assert(ask(t, descending = false).contains((long(20), 2)))
  }

  test("ties at the bound stay") {
    val t = table(ids(0, 70), ids(70, 75), ids(60, 69), ids(70, 70))
    assert(ask(t, rows = 15).contains((long(70), 3)))
  }

  test("only files of which all rows match count, but others may hold first rows") {
    val t = table(disjoint(8): _*)
    assert(ask(t, filter = from(35)).contains((long(70), 1)))
    val below45 = Compare(id, CompareOp.Lt, long(45))
    assert(ask(t, filter = below45).contains((long(30), 2)), "30 to 39 counts, 40 to 49 may match")
    assert(ask(t, filter = Unknown("f(id)")).isEmpty)
    assert(ask(t, filter = Predicate.and(from(0), Unknown("f(id)"))).isEmpty)
    assert(ask(t, filter = Or(Seq(from(0), Unknown("f(id)")))).contains((long(70), 1)))
  }

  test("nulls: they do not count unless they come first, and then their files stay") {
    val t = table(disjoint(3) :+ ids(90, 99, nulls = Some(1)): _*)
    assert(ask(t).contains((long(20), 2)), "the file with a null does not count and stays")
    assert(ask(t, nullsFirst = true).contains((long(90), 1)))
    assert(ask(t, descending = false, nullsFirst = true).contains((long(9), 2)), "the null comes first")
    val unknown = table(disjoint(3) :+ ids(90, 99, nulls = None): _*)
    assert(ask(unknown).contains((long(20), 2)))
    val onlyNulls = table(disjoint(3) :+ Map("id" -> Stats(Some(10), Some(10))): _*)
    assert(ask(onlyNulls).contains((long(20), 1)))
    assert(ask(onlyNulls, nullsFirst = true).contains((long(20), 2)))
    assert(ask(onlyNulls, filter = NotNull(id)).contains((long(20), 1)))
    assert(ask(onlyNulls, filter = IsNull(id)).isEmpty, "that all are null is not a bound")
  }

  private def doubles(lower: Double, upper: Double, nans: Option[Long] = Some(0)): Map[String, Stats] =
    Map("d" -> Stats.range(lower, upper).copy(nans = nans))

  test("NaN: with one anywhere, or unknown, there is not a bound from above; from below its file does not count") {
    val clean = table(doubles(0, 1), doubles(2, 3), doubles(4, 5))
    assert(ask(clean, d).contains((ZoneValues.ofDouble(4), 1)))
    assert(ask(clean, d, descending = false).contains((ZoneValues.ofDouble(1), 1)))
    for (nans <- Seq(Some(1L), None)) {
      val t = table(doubles(-2, -1, nans), doubles(0, 1), doubles(2, 3))
      assert(ask(t, d).isEmpty)
      assert(ask(t, d, descending = false).contains((ZoneValues.ofDouble(1), 2)))
    }
    assert(ask(table(doubles(0, 1), doubles(2, 3), ids(0, 1)), d).isEmpty, "nothing is known of a file's column")
  }

  test("files without bounds, with inverted bounds or an unknown number of rows do not count, and stay") {
    val noBounds = table(disjoint(3) :+ Map("s" -> Stats.range("a", "b")): _*)
    assert(ask(noBounds).contains((long(20), 2)))
    val inverted = table(disjoint(3) :+ ids(99, 90): _*)
    assert(ask(inverted).contains((long(20), 2)))
    val t = table(disjoint(3): _*)
    t.append(TestFiles.data(t, ids(90, 99), records = 0))
    assert(ask(t).contains((long(20), 2)))
  }

  test("strings cut short are valid bounds; without an upper bound a file cannot be counted from below") {
    def strings(lower: String, upper: Option[String]) = Map("s" -> Stats(Some(10), Some(0), None, Some(lower), upper))
    val t = table(strings("a", Some("b")), strings("mmmm", Some("mn")), strings("x", None))
    assert(ask(t, s).contains((ZoneValues.ofString("x"), 1)))
    assert(ask(t, s, descending = false, rows = 11).contains((ZoneValues.ofString("mn"), 2)))
    assert(ask(t, s, descending = false, rows = 21).isEmpty)
  }

  test("files that a delete may touch do not count; the others do, without a look at delete files") {
    val t = table(disjoint(8): _*)
    val files = (0 until 8).map(k => ours(t, Expressions.equal("id", k * 10L), Covering).tasks.head.file())
    t.delete(TestFiles.positionDeletesOf(t, files(7), byBounds = false))
    assert(ask(t).contains((long(60), 2)))
    t.delete(TestFiles.positionDeletesOf(t, files(6), byBounds = true))
    assert(ask(t).contains((long(50), 3)))
    t.delete(TestFiles.equalityDeletes(t, Seq("s")))
    assert(ask(t).isEmpty)
    t.append(TestFiles.data(t, ids(30, 39)), TestFiles.data(t, ids(80, 89)))
    assert(ask(t).contains((long(80), 1)), "written after the equality delete")
    assert(ask(t, rows = 20).contains((long(30), 7)))
  }

  test("a position delete that is committed with a file may touch it") {
    val t = table(disjoint(2): _*)
    val delta = t.load().newRowDelta().addRows(TestFiles.data(t, ids(90, 99)))
    delta.addDeletes(TestFiles.positionDeletes(t, t.spec, null)).commit()
    assert(ask(t).isEmpty)
  }

  test("deletes of a partition touch its files only; vectors name theirs") {
    val t = TestTable.create(schema, s => PartitionSpec.builderFor(s).identity("p").build(), formatVersion = 3)
    val files = (0 until 4).map(k => TestFiles.data(t, ids(k * 10L, k * 10L + 9), partition = Seq(Int.box(k % 2))))
    t.append(files: _*)
    t.delete(TestFiles.vector(t, files(3), "mem://lake/v.puffin", 4))
    assert(ask(t).contains((long(20), 2)))
    t.delete(TestFiles.equalityDeletes(t, Seq("s"), t.spec, TestFiles.tuple(t.spec, Seq(Int.box(0)))))
    assert(ask(t).contains((long(10), 3)))
  }

  test("segments of several widths of one column; a type of another order") {
    val t = table(Map("p" -> Stats.range(5, 9)), Map("p" -> Stats.range(15, 19)))
    assert(ask(t, ColumnRef(4, IntType, "p")).contains((long(15), 1)))
    assert(ask(t, ColumnRef(4, LongType, "p")).contains((long(15), 1)))
    assert(ask(t, ColumnRef(4, DateType, "p")).isEmpty)
    assert(ask(t, ColumnRef(99, IntType, "gone")).isEmpty)
  }

  test("a decimal promoted beyond 18 digits: files that were indexed before do not count") {
    val t = TestTable.create(new Schema(optional(1, "m", Types.DecimalType.of(9, 2))))
    def append(lower: Long, upper: Long): Unit = {
      val bounds = Stats.range(JBigDecimal.valueOf(lower, 2), JBigDecimal.valueOf(upper, 2))
      t.append(TestFiles.data(t, Map("m" -> bounds))): Unit
    }
    append(500, 900)
    assert(relation(t, Covering).pinned.covered.isDefined)
    t.load().updateSchema().updateColumn("m", Types.DecimalType.of(20, 2)).commit()
    append(10, 20)
    append(100, 200)
    val m = ColumnRef(1, DecimalType(20, 2), "m")
    val two = ZoneValues.ofDecimal(BigInteger.valueOf(200), DecimalType(20, 2))
    assert(ask(t, m, descending = false, rows = 15).contains((two, 2)))
  }

  test("a bound that other relations prove stands for the files' own, but not where NaN may come first") {
    val t = table(disjoint(3): _*)
    assert(ask(t, known = Some(long(25))).contains((long(25), 1)))
    assert(ask(t, known = Some(long(95))).contains((long(95), 0)))
    assert(ask(t, known = Some(long(5)), descending = false).contains((long(5), 1)))
    assert(ask(t, known = Some(long(-1))).isEmpty, "nothing is pruned")
    assert(ask(t, known = Some(long(25)), rows = 0).isEmpty)
    val nans = table(doubles(0, 1), doubles(2, 3, nans = Some(1)))
    assert(ask(nans, d, known = Some(ZoneValues.ofDouble(9))).isEmpty)
  }

  test("a function gets the bound and the farthest value of all files, and proves nothing without the latter") {
    var asked = Seq.empty[(ZoneValue, ZoneValue)]
    def function(rows: Option[Predicate]): Option[SortFunction] = Some { (value: ZoneValue, farthest: ZoneValue) =>
      asked :+= (value -> farthest)
      rows
    }
    val t = table(disjoint(8) :+ ids(0, 99): _*)
    assert(ask(t, function = function(Some(from(60)))).contains((long(70), 3)))
    assert(ask(t, descending = false, function = function(Some(from(60)))).contains((long(9), 3)))
    assert(asked == Seq(long(70) -> long(99), long(9) -> long(0)))
    assert(ask(t, function = function(None)).isEmpty)
    val inSegments = table(disjoint(3): _*)
    assert(ask(inSegments, function = function(Some(from(20)))).contains((long(20), 1)))
    inSegments.append(TestFiles.data(inSegments, Map("s" -> Stats.range("a", "b"))))
    assert(ask(inSegments, function = function(Some(from(20)))).isEmpty && asked.sizeIs == 4)
  }

  private def limited(t: TestTable, rows: Long, filter: Predicate = True): Seq[Long] = {
    val r = relation(t, Covering).withLimit(LimitCut(rows, filter), "digest")
    val tasks = r.newBatchScan().planFiles()
    try tasks.forEach(_ => ())
    finally tasks.close()
    Seq(r.lastPlan().kept) ++ r.lastPlan().limit
  }

  test("LIMIT: the fewest files that hold the rows, the largest first; all files where that is not known") {
    val t = TestTable.create(schema)
    Seq(5L, 50L, 20L, 50L, 1L).zipWithIndex.foreach { case (records, k) =>
      t.append(TestFiles.data(t, ids(k * 10L, k * 10L + 9), records = records))
    }
    assert(limited(t, 3) == Seq(1, 3))
    assert(limited(t, 50) == Seq(1, 50))
    assert(limited(t, 51) == Seq(2, 51))
    assert(limited(t, 126) == Seq(5, 126))
    assert(limited(t, 127) == Seq(5))
    assert(
      limited(t, 20, Compare(id, CompareOp.Lt, long(10))) == Seq(5),
      "the one file that matches as a whole has 5 rows")
    assert(limited(t, 10, from(15)) == Seq(1, 10))
    assert(limited(t, 10, from(35)) == Seq(5))
    assert(limited(t, 10, Unknown("f(id)")) == Seq(5))
    assert(!isWorthwhile(t, 126) && isWorthwhile(t, 120) && !isWorthwhile(t, 127))
  }

  test("LIMIT: a file that a writer put into a wrong partition is not planned, so its rows are not enough") {
    val t = TestTable.create(schema, s => PartitionSpec.builderFor(s).truncate("id", 10).build())
    val right = TestFiles.data(t, ids(0, 9), Seq(Long.box(0)), records = 5)
    t.append(right, TestFiles.data(t, ids(0, 9), Seq(Long.box(50)), records = 10))
    val cut = relation(t, Covering).withLimit(LimitCut(3, Compare(id, CompareOp.Lt, long(10))), "digest")
    val planned = plan(cut, Expressions.lessThan("id", 10L), identity)
    assert(planned.map(_.file().location()) == Seq(right.location()) && cut.lastPlan().limit.contains(3L))
  }

  private def isWorthwhile(t: TestTable, rows: Long): Boolean =
    IndexQuestions.isWorthwhile(relation(t, Covering).pinned, LimitCut(rows, True))

  /** The rows of one file; `None` is null. */
  private type Rows = Seq[Option[Long]]

  private def randomRows(rng: Rng): Rows = {
    val (base, width) = (rng.int(60), 1 + rng.int(25))
    val withNulls = rng.chance(30)
    Seq.fill(1 + rng.int(6))(if (withNulls && rng.chance(30)) None else Some((base + rng.int(width)).toLong))
  }

  /** Valid bounds of the rows, sometimes wider than the rows, or no bounds. */
  private def statsOf(rows: Rows, rng: Rng): Map[String, Stats] = {
    val values = rows.flatten
    val nulls = Option.when(!rng.chance(10))(rows.count(_.isEmpty).toLong)
    def wider = if (rng.chance(15)) rng.int(5).toLong else 0L
    if (rng.chance(10)) Map.empty
    else if (values.isEmpty) Map("id" -> Stats(Some(rows.size.toLong), nulls))
    else Map("id" -> Stats(Some(rows.size.toLong), nulls, None, Some(values.min - wider), Some(values.max + wider)))
  }

  test("more bounds than the dictionary of a segment holds: exact all the same") {
    val t = TestTable.create(schema)
    val files = 20000
    t.append((0 until files).map(k => TestFiles.data(t, ids(k * 10L, k * 10L + 9))): _*)
    val last = (files - 1) * 10L
    assert(ask(t).contains((long(last), 1)))
    assert(ask(t, rows = 45).contains((long(last - 40), 5)))
    assert(ask(t, descending = false, rows = 45).contains((long(49), 5)))
    val half = Compare(id, CompareOp.Lt, long(100000))
    assert(ask(t, filter = half).contains((long(99990), 1)))
    assert(limited(t, 25) == Seq(3, 25))
  }

  test("random files: at least k rows of the result are within the bound") {
    var bounds = 0
    (0 until 25).foreach { round =>
      val rng = new Rng(Rng.baseSeed + round)
      val t = TestTable.create(schema)
      val files = Seq.fill(4 + rng.int(12))(randomRows(rng))
      files.grouped(5).foreach { commit =>
        t.append(commit.map(rows => TestFiles.data(t, statsOf(rows, rng), records = rows.size.toLong)): _*)
      }
      (0 until 20).foreach { _ =>
        val (descending, nullsFirst) = (rng.chance(50), rng.chance(50))
        val k = 1 + rng.int(files.map(_.size).sum + 2)
        val least = Option.when(rng.chance(50))(rng.int(80).toLong)
        val filter = least.fold[Predicate](True)(from)
        val result = files.flatten.filter(v => least.forall(low => v.exists(_ >= low)))
        ask(t, id, descending, nullsFirst, filter, k.toLong).foreach { case (bound, _) =>
          bounds += 1
          val value = bound match {
            case LongValue(v) => v
            case other        => fail(s"$other")
          }
          val within = result.count {
            case Some(v) => if (descending) v >= value else v <= value
            case None    => nullsFirst
          }
          assert(
            within >= k,
            s"seed ${rng.seed}: $within of $k rows, bound $value, descending $descending, least $least")
        }
      }
    }
    assert(bounds > 50, s"$bounds bounds")
  }
}
