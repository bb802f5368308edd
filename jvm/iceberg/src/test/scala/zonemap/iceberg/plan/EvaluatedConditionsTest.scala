// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.plan

import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.iceberg.{FileFormat, PartitionSpec}
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.predicate.{
  And,
  ColumnRef,
  ColumnSpan,
  Compare,
  CompareOp,
  Evaluated,
  Or,
  Predicate,
  RowCondition,
  Unknown
}
import zonemap.core.value.{LongValue, StringType, ZoneValue, ZoneValues}
import zonemap.iceberg.testing.{Stats, TestFiles, TestTable}

/** Plans conditions that are evaluated on single values, on files that exist in metadata only. */
class EvaluatedConditionsTest extends AnyFunSuite with FewColumns {
  import Planning._

  private def evaluated(columns: ColumnRef*)(holds: Seq[ZoneValue] => Boolean): Evaluated =
    Evaluated(
      columns,
      new RowCondition("test", "test") {
        override protected def evaluate(values: Seq[ZoneValue]): Boolean = holds(values)
      })

  private def planned(t: TestTable, predicate: Predicate): Int = {
    val relation = Planning.relation(t, Covering).withFunctions(predicate, "digest")
    Using.resource(relation.newBatchScan().planFiles())(_.asScala.size)
  }

  private def isKept(stats: Map[String, Stats], predicate: Predicate, format: FileFormat = FileFormat.PARQUET) = {
    val t = TestTable.create(schema)
    t.append(TestFiles.data(t, stats, format = format))
    planned(t, predicate) == 1
  }

  /** A condition that is FALSE exactly for files whose columns have these spans. */
  private def within(columns: ColumnRef*)(spans: ColumnSpan*): Evaluated =
    Evaluated(
      columns,
      new RowCondition("spans", "spans") {
        override val isBounded: Boolean = true
        override protected def evaluate(values: Seq[ZoneValue]): Boolean = true
        override protected def evaluateWithin(found: Seq[ColumnSpan]): Boolean = found != spans
      }
    )

  private val odd = evaluated(id) {
    case Seq(LongValue(v)) => v % 2 == 1
    case _                 => false
  }
  private val isNull = evaluated(id)(_.head == null)
  private val never = evaluated(id)(_ => false)

  private def ids(lower: Long, upper: Long, nulls: Option[Long] = Some(0)) =
    Map("id" -> Stats.range(lower, upper).copy(nulls = nulls))

  test("whole numbers: one value, and nulls beside it (S60, S61)") {
    Seq[(Map[String, Stats], Predicate, Boolean)](
      (ids(2, 2), odd, false),
      (ids(3, 3), odd, true),
      (ids(2, 2, Some(3)), odd, false),
      (ids(2, 2, None), odd, false),
      (Map("id" -> Stats(Some(10), Some(10))), odd, false),
      (ids(2, 4), odd, true),
      (ids(4, 2), never, true),
      (Map("id" -> Stats(Some(10), Some(0), None, Some(2L), None)), never, true),
      (Map.empty, never, true),
      (ids(2, 2), isNull, false),
      (ids(2, 2, Some(3)), isNull, true),
      (ids(2, 2, None), isNull, true),
      (Map("id" -> Stats(Some(10), Some(10))), isNull, true),
      (Map("id" -> Stats(Some(10), None)), isNull, true)
    ).foreach { case (stats, predicate, kept) => assert(isKept(stats, predicate) == kept, s"$stats $predicate") }
    assert(!isKept(ids(2, 2), odd, FileFormat.ORC), "bounds that meet are one value in any format")
  }

  test("the span of a column that holds more than one value (S194)") {
    def span(lower: Long, upper: Long, nulls: Boolean, nans: Boolean = false) =
      ColumnSpan(LongValue(lower), LongValue(upper), hasValues = true, nulls, nans)
    Seq[(Map[String, Stats], ColumnSpan, Boolean)](
      (ids(2, 4), span(2, 4, nulls = false), false),
      (ids(2, 4), span(2, 5, nulls = false), true),
      (ids(2, 4, Some(3)), span(2, 4, nulls = true), false),
      (ids(2, 4, None), span(2, 4, nulls = true), false),
      (ids(4, 2), span(4, 2, nulls = false), true),
      (Map.empty, span(2, 4, nulls = false), true)
    ).foreach { case (stats, expected, kept) =>
      assert(isKept(stats, within(id)(expected)) == kept, s"$stats $expected")
    }
    val wide =
      ColumnSpan(ZoneValues.ofDouble(1), ZoneValues.ofDouble(2), hasValues = true, hasNulls = false, hasNaN = true)
    def doubles(nans: Option[Long]) = Map("d" -> Stats.range(1.0, 2.0).copy(nans = nans))
    assert(!isKept(doubles(None), within(d)(wide)) && !isKept(doubles(Some(0)), within(d)(wide.copy(hasNaN = false))))
    val both = ids(1, 1) ++ doubles(Some(0))
    val one = ColumnSpan.of(ZoneValues.ofLong(1))
    assert(!isKept(both, within(id, d)(one, wide.copy(hasNaN = false))), "one value beside a span")
    assert(isKept(ids(1, 1), within(id, d)(one)), "nothing is known of the other column")
    val texts =
      ColumnSpan(ZoneValues.ofString("a"), ZoneValues.ofString("b"), hasValues = true, hasNulls = false, hasNaN = false)
    assert(!isKept(Map("s" -> Stats.range("a", "b")), within(s)(texts)))
    assert(
      isKept(Map("s" -> Stats.range("a", "b\uFFFD")), within(s)(texts.copy(upper = ZoneValues.ofString("b\uFFFD")))))
  }

  test("NaN, and zeros of which there are two (S60)") {
    val none = evaluated(d)(_ => false)
    def kept(value: Double, nans: Option[Long]) = isKept(Map("d" -> Stats.range(value, value).copy(nans = nans)), none)
    assert(!kept(1.5, Some(0)) && !kept(Double.PositiveInfinity, Some(0)))
    assert(kept(1.5, Some(2)) && kept(1.5, None))
    assert(kept(0.0, Some(0)) && kept(-0.0, Some(0)))
    assert(!isKept(Map("d" -> Stats(Some(10), Some(10))), none), "nulls only")
  }

  test("texts: bounds that meet, whole or cut, and bytes that are not a text (S60)") {
    val none = evaluated(s)(_ => false)
    def kept(lower: String, upper: String) = isKept(Map("s" -> Stats.range(lower, upper)), none)
    val sixteen = "abcdefghijklmnop"
    assert(!kept("eu", "eu") && !kept("", "") && !kept(sixteen, sixteen))
    assert(kept(sixteen, "abcdefghijklmnoq"), "cut")
    assert(kept("a\uFFFD", "a\uFFFD"), "may be several texts")
  }

  test("the value of an identity partition is what readers return, whatever the file's bounds are (S62)") {
    val t = TestTable.create(schema, s => PartitionSpec.builderFor(s).identity("p").build())
    Seq[(Any, Map[String, Stats])](
      (7, Map.empty),
      (8, Map.empty),
      (9, Map("p" -> Stats.range(8, 8))),
      (8, Map("p" -> Stats.range(9, 9))),
      (null, Map.empty)
    ).foreach { case (value, stats) => t.append(TestFiles.data(t, stats, Seq(value))) }
    assert(planned(t, evaluated(p)(_.head == LongValue(8))) == 2)
    assert(planned(t, evaluated(p)(_.head == null)) == 1)
    t.load().updateSpec().removeField("p").commit()
    t.append(TestFiles.data(t, Map("p" -> Stats.range(8, 8))), TestFiles.data(t, Map("p" -> Stats.range(8, 9))))
    assert(planned(t, evaluated(p)(_.head == LongValue(9))) == 2, "one in the partition, one that is not known")
  }

  test("several columns: every combination is refuted or the file stays (S61)") {
    val t = TestTable.create(schema)
    Seq(
      ids(1, 1) + ("s" -> Stats.range("a", "a")),
      ids(1, 1) + ("s" -> Stats.range("b", "b")),
      ids(2, 2) + ("s" -> Stats.range("a", "a")),
      ids(1, 1, Some(2)) + ("s" -> Stats.range("b", "b").copy(nulls = Some(1))),
      ids(1, 1) + ("s" -> Stats.range("b", "c"))
    ).foreach(stats => t.append(TestFiles.data(t, stats)))
    def wanted(i: ZoneValue, text: ZoneValue) = evaluated(id, s)(_ == Seq(i, text))
    assert(planned(t, wanted(ZoneValues.ofLong(1), ZoneValues.ofString("a"))) == 2)
    assert(planned(t, wanted(ZoneValues.ofLong(2), ZoneValues.ofString("b"))) == 1)
    assert(planned(t, wanted(null, null)) == 2)
    assert(planned(t, wanted(null, ZoneValues.ofString("b"))) == 2)
  }

  test("beside and under OR with what bounds tell") {
    val t = TestTable.create(schema)
    (0 until 10).foreach(k =>
      t.append(TestFiles.data(t, ids(k.toLong, k.toLong) + ("p" -> Stats.range(k * 10, k * 10 + 9)))))
    val p55 = Compare(p, CompareOp.Eq, LongValue(55))
    val p45 = Compare(p, CompareOp.Eq, LongValue(45))
    assert(planned(t, odd) == 5)
    assert(planned(t, And(Seq(odd, p55))) == 1 && planned(t, And(Seq(odd, p45))) == 0)
    assert(planned(t, Or(Seq(odd, p55))) == 5 && planned(t, Or(Seq(odd, p45))) == 6)
    assert(planned(t, Or(Seq(odd, Unknown("u")))) == 10)
    val files = Planning.relation(t, Covering).pinned.liveFiles.get
    assert(files.keep(odd).count == 5, "as joins ask")
  }

  test("a condition is evaluated once for each value, and for so many values only (S63)") {
    val calls = new AtomicInteger
    val counting = evaluated(id) { _ => calls.incrementAndGet(); false }
    val t = TestTable.create(schema)
    t.append((0 until 60).map(k => TestFiles.data(t, ids(k % 3L, k % 3L))): _*)
    assert(planned(t, counting) == 0 && calls.get == 3)
    assert(planned(t, counting) == 0 && calls.get == 3)
    val many = (0 to RowCondition.MaxKnown).map(v => Seq(LongValue(v.toLong)))
    val kept = many.count(evaluated(id)(_ => false).condition.mayHold)
    assert(kept == 1, "what is not looked at is kept")
  }

  test("another column of the same name, or of a type of another order, is not asked (S74)") {
    val t = TestTable.create(schema)
    t.append(TestFiles.data(t, ids(2, 2)))
    assert(planned(t, evaluated(id.copy(fieldId = 77))(_ => false)) == 1)
    assert(planned(t, evaluated(id.copy(columnType = StringType))(_ => false)) == 1)
    assert(planned(t, evaluated(id.copy(mapKey = Some(ZoneValues.ofString("k"))))(_ => false)) == 1)
    assert(planned(t, evaluated(id, s)(_ => false)) == 1, "nothing is known of s")
  }
}
