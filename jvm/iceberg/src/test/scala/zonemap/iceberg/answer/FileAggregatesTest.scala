// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.answer

import java.math.{BigDecimal => JBigDecimal}

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._
import scala.util.Using

import org.apache.iceberg.{BatchScan, DataFile, FileFormat, FileScanTask, PartitionSpec, Schema}
import org.apache.iceberg.expressions.{Expression, Expressions, Literal}
import org.apache.iceberg.types.Types
import org.apache.iceberg.types.Types.NestedField.optional
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.predicate.{ColumnRef, Compare, CompareOp, IsNull, NotNull, Predicate, True, Unknown}
import zonemap.core.value.{BytesValue, DateType, DecimalType, IntType, LongType, LongValue, ZoneValue, ZoneValues}
import zonemap.iceberg.answer.FileAggregate.{CountRows, CountValues, Greatest, Least}
import zonemap.iceberg.plan.{FewColumns, IndexQuestions, PlannedScan, Planning, ZoneMapBatchScan, ZoneMapTable}
import zonemap.iceberg.report.AggregateReason
import zonemap.iceberg.report.AggregateReason.{FewWholeFiles, Function, ManyGroups}
import zonemap.iceberg.testing.{Stats, TestFiles, TestTable}
import zonemap.iceberg.trust.KeyFunction

/** Evaluates aggregates over whole files, on files of ten rows that exist in metadata only. */
class FileAggregatesTest extends AnyFunSuite with FewColumns {
  import Planning._

  private def ids(lower: Long, upper: Long): Map[String, Stats] = Map("id" -> Stats.range(lower, upper))

  private def disjoint(files: Int): Seq[Map[String, Stats]] = (0 until files).map(k => ids(k * 10L, k * 10L + 9))

  /** The tasks of a scan, and its plan. */
  private def planned(r: ZoneMapTable, filter: Expression): (IndexedSeq[FileScanTask], Option[PlannedScan]) = {
    val scan = r.newBatchScan().filter(filter)
    val tasks = Using.resource(scan.planFiles())(_.asScala.map(_.asFileScanTask()).toIndexedSeq)
    (tasks, scan.asInstanceOf[ZoneMapBatchScan].planned().toScala)
  }

  private def ask(
      t: TestTable,
      aggregates: Seq[FileAggregate],
      filter: Predicate = True,
      grouping: Seq[ColumnRef] = Nil,
      pushed: Expression = Expressions.alwaysTrue()): Either[AggregateReason, FileAnswers] =
    askOf(t, aggregates, filter, grouping.map(GroupKey(_)), pushed)

  private def askOf(
      t: TestTable,
      aggregates: Seq[FileAggregate],
      filter: Predicate,
      keys: Seq[GroupKey],
      pushed: Expression): Either[AggregateReason, FileAnswers] = {
    val r = relation(t, Covering)
    val (tasks, Some(plan)) = planned(r, pushed): @unchecked
    IndexQuestions.aggregates(r.pinned, plan.files, tasks, AggregateQuestion(filter, keys, aggregates))
  }

  /** The number of evaluated files, and each group as text: keys, then results. */
  private def answer(
      t: TestTable,
      aggregates: Seq[FileAggregate],
      filter: Predicate = True,
      grouping: Seq[ColumnRef] = Nil): (Int, Set[String]) =
    ask(t, aggregates, filter, grouping) match {
      case Right(found) =>
        (found.answered.cardinality, found.groups.map(g => (g.keys ++ g.results).map(text).mkString(" ")).toSet)
      case Left(FewWholeFiles(0, _)) => (0, Set.empty)
      case Left(reason)              => fail(s"$reason")
    }

  private def text(value: ZoneValue): String =
    value match {
      case null              => "null"
      case LongValue(v)      => v.toString
      case bytes: BytesValue => bytes.utf8
    }

  private def long(v: Long): ZoneValue = ZoneValues.ofLong(v)
  private def compared(op: CompareOp, v: Long): Predicate = Compare(id, op, long(v))
  private val ofIds = Seq(CountRows, Least(id), Greatest(id))

  // condition on eight files with values 0 to 79; number of evaluated files; their rows, least and greatest value
  private val filters: Seq[(Predicate, Int, String)] = Seq(
    (True, 8, "80 0 79"),
    (compared(CompareOp.GtEq, 30), 5, "50 30 79"),
    (compared(CompareOp.GtEq, 35), 4, "40 40 79"),
    (compared(CompareOp.Lt, 35), 3, "30 0 29"),
    (compared(CompareOp.Lt, 10), 1, "10 0 9"),
    (NotNull(id), 8, "80 0 79"),
    (Predicate.and(compared(CompareOp.Gt, 9), compared(CompareOp.LtEq, 49)), 4, "40 10 49"),
    (Predicate.and(compared(CompareOp.Gt, 35), compared(CompareOp.Lt, 45)), 0, ""),
    (Predicate.and(compared(CompareOp.GtEq, 30), Unknown("f(id)")), 0, ""),
    (Unknown("f(id)"), 0, ""),
    (IsNull(id), 0, ""),
    (compared(CompareOp.Gt, 100), 0, "")
  )

  test("files of which all rows match are answered, border files are not") {
    val t = table(disjoint(8): _*)
    for ((filter, files, result) <- filters)
      assert(answer(t, ofIds, filter) == ((files, Set(result).filter(_.nonEmpty))), filter)
  }

  test("only planned files are answered, and whether that is worth it is told by their number") {
    val t = table(disjoint(8): _*)
    val from60 = Expressions.greaterThanOrEqual("id", 60L: java.lang.Long)
    assert(ask(t, ofIds, pushed = from60).map(_.answered.cardinality) == Right(2))
    val many = table(disjoint(21): _*)
    assert(ask(many, ofIds, compared(CompareOp.Lt, 20)) == Left(FewWholeFiles(2, 21)))
    assert(ask(many, ofIds, compared(CompareOp.Lt, 30)).map(_.answered.cardinality) == Right(3))
  }

  test("nulls: a count of values needs to know them, least and greatest values do not") {
    def nulls(count: Option[Long]) = Map("id" -> Stats.range(1L, 5L).copy(nulls = count))
    val values = Seq(CountRows, CountValues(id))
    assert(answer(table(nulls(Some(0))), values) == ((1, Set("10 10"))))
    assert(answer(table(nulls(Some(3))), values) == ((0, Set.empty)), "three nulls, but the index knows 'some' only")
    assert(answer(table(nulls(None)), values) == ((0, Set.empty)))
    assert(answer(table(nulls(Some(3))), ofIds) == ((1, Set("10 1 5"))))
    val onlyNulls = Map("id" -> Stats(Some(10), Some(10)))
    assert(answer(table(onlyNulls), values ++ ofIds.tail) == ((1, Set("10 0 null null"))))
    assert(answer(table(onlyNulls, ids(3, 4)), values ++ ofIds.tail) == ((2, Set("20 10 3 4"))))
    assert(answer(table(ids(3, 4), onlyNulls), values ++ ofIds.tail) == ((2, Set("20 10 3 4"))))
  }

  test("a file that says nothing of a column may lack it: only its rows are known") {
    val t = table(Map("s" -> Stats.range("a", "b")), ids(1, 2))
    assert(answer(t, Seq(CountRows)) == ((2, Set("20"))))
    assert(answer(t, Seq(CountValues(id))) == ((1, Set("10"))))
    assert(answer(t, ofIds) == ((1, Set("10 1 2"))))
    assert(answer(t, Seq(CountRows), grouping = Seq(id)) == ((0, Set.empty)))
  }

  test("a column added with a default, and one that only the newer schema has") {
    val t = TestTable.create(schema, formatVersion = 3)
    t.append(TestFiles.data(t, ids(1, 2)))
    assert(answer(t, Seq(CountRows)) == ((1, Set("10"))), "the file is indexed before the column is added")
    t.load().updateSchema().addColumn("x", Types.IntegerType.get(), "", Literal.of(7)).commit()
    val x = ColumnRef(t.schema.findField("x").fieldId(), IntType, "x")
    assert(ask(t, Seq(Least(x))) == Left(Function("x")), "the snapshot's schema does not have it yet")
    t.append(TestFiles.data(t, ids(3, 4) + ("x" -> Stats.range(1, 2))))
    assert(answer(t, Seq(CountRows, CountValues(x), Least(x), Greatest(x))) == ((1, Set("10 10 1 2"))))
    assert(answer(t, Seq(CountValues(x))) == ((1, Set("10"))), "the rows of the older file have the default")
  }

  test("texts are never extremes, and keys only where their bounds meet") {
    val t = table(Map("s" -> Stats.range("ab", "ab")), Map("s" -> Stats.range("ab", "ac")))
    assert(answer(t, Seq(Least(s))) == ((0, Set.empty)))
    assert(answer(t, Seq(CountRows), grouping = Seq(s)) == ((1, Set("ab 10"))))
    val noText = table(Map("s" -> Stats.range("a\uFFFD", "a\uFFFD")))
    assert(answer(noText, Seq(CountRows), grouping = Seq(s)) == ((0, Set.empty)), "other bytes meet there")
    val fromA = Compare(s, CompareOp.GtEq, ZoneValues.ofString("a"))
    assert(answer(noText, Seq(CountRows), fromA) == ((0, Set.empty)))
    assert(answer(t, Seq(CountRows), fromA) == ((1, Set("10"))))
    val nullsToo = table(Map("s" -> Stats.range("ab", "ab").copy(nulls = Some(1))))
    assert(answer(nullsToo, Seq(CountRows), grouping = Seq(s)) == ((0, Set.empty)))
  }

  test("NaN and zeros") {
    def doubles(lower: Double, upper: Double, nans: Option[Long] = Some(0)) =
      table(Map("d" -> Stats.range(lower, upper).copy(nans = nans)))
    val extremes = Seq(Least(d), Greatest(d))
    def known(t: TestTable, asked: FileAggregate*): Int = answer(t, asked)._1
    assert(known(doubles(1, 2), extremes: _*) == 1)
    assert(known(doubles(1, 2, Some(1)), extremes: _*) == 0)
    assert(known(doubles(1, 2, None), extremes: _*) == 0)
    assert(known(doubles(1, 2, None), CountRows, CountValues(d)) == 1, "NaN is a value")
    assert(known(doubles(0, 2), Least(d)) == 0, "-0.0 or 0.0")
    assert(known(doubles(-0.0, 2), Least(d)) == 0)
    assert(known(doubles(-1, 0), Greatest(d)) == 0)
    assert(known(doubles(0, 2), Greatest(d)) == 1)
    assert(answer(doubles(1, 1), Seq(CountRows), grouping = Seq(d)) == ((0, Set.empty)), "no group by doubles")
  }

  test("bounds that are inverted, one-sided, or of other formats") {
    assert(answer(table(ids(9, 3)), ofIds) == ((0, Set.empty)))
    assert(answer(table(Map("id" -> Stats(Some(10), Some(0), None, Some(3L), None))), ofIds) == ((0, Set.empty)))
    val t = TestTable.create(schema)
    t.append(TestFiles.data(t, ids(1, 2), format = FileFormat.ORC))
    assert(answer(t, ofIds) == ((0, Set.empty)))
    assert(answer(t, Seq(CountRows, CountValues(id))) == ((1, Set("10 10"))))
  }

  test("deletes of every kind keep the files that they may touch") {
    def with3(delete: (TestTable, Seq[DataFile]) => Any, version: Int = 2): (Int, Set[String]) = {
      val t = TestTable.create(schema, s => PartitionSpec.builderFor(s).identity("p").build(), version)
      val files = (0 until 3).map(k => TestFiles.data(t, ids(k * 10L, k * 10L + 9), Seq(Int.box(k / 2))))
      t.append(files: _*)
      delete(t, files)
      answer(t, ofIds)
    }
    assert(with3((_, _) => ()) == ((3, Set("30 0 29"))))
    assert(with3((t, f) => t.delete(TestFiles.positionDeletesOf(t, f(0), byBounds = false))) == ((2, Set("20 10 29"))))
    assert(with3((t, f) => t.delete(TestFiles.positionDeletesOf(t, f(1), byBounds = true))) == ((2, Set("20 0 29"))))
    val first = (t: TestTable) => TestFiles.tuple(t.spec, Seq(Int.box(0)))
    assert(with3((t, _) => t.delete(TestFiles.positionDeletes(t, t.spec, first(t)))) == ((1, Set("10 20 29"))))
    assert(
      with3((t, _) => t.delete(TestFiles.equalityDeletes(t, Seq("s"), t.spec, first(t)))) == ((1, Set("10 20 29"))))
    assert(with3((t, f) => t.delete(TestFiles.vector(t, f(2), "mem://lake/v.puffin", 4)), 3) == ((2, Set("20 0 19"))))
    val everywhere = (t: TestTable) => {
      t.load().updateSpec().removeField("p").commit()
      t.delete(TestFiles.equalityDeletes(t, Seq("s"), t.spec)): Unit
    }
    assert(with3((t, _) => everywhere(t)) == ((0, Set.empty)))
    val later = with3 { (t, _) =>
      t.delete(TestFiles.positionDeletes(t, t.spec, first(t)))
      t.append(TestFiles.data(t, ids(50, 59), Seq(Int.box(0)))): Unit
    }
    assert(later == ((2, Set("20 20 59"))), "a file that came after the deletes is whole")
  }

  test("a deletion vector states how many rows it deletes; delete files of positions do not") {
    def counted(delete: (TestTable, DataFile) => Any, version: Int, aggregates: FileAggregate*) = {
      val t = TestTable.create(schema, formatVersion = version)
      val files = Seq(TestFiles.data(t, ids(0, 9)), TestFiles.data(t, ids(10, 19)))
      t.append(files: _*)
      delete(t, files.head)
      answer(t, aggregates)
    }
    val vector = (t: TestTable, file: DataFile) => t.delete(TestFiles.vector(t, file, "mem://lake/v.puffin", 4)): Any
    assert(counted(vector, 3, CountRows) == ((2, Set("19"))))
    assert(counted(vector, 3, CountRows, CountValues(id)) == ((1, Set("10 10"))))
    val positions =
      (t: TestTable, file: DataFile) => t.delete(TestFiles.positionDeletesOf(t, file, byBounds = false)): Any
    assert(counted(positions, 2, CountRows) == ((1, Set("10"))))
  }

  test("a file that is in the snapshot twice counts twice") {
    val t = TestTable.create(schema)
    val file = TestFiles.data(t, ids(1, 2))
    t.append(file)
    t.append(file, TestFiles.data(t, ids(3, 4)))
    assert(answer(t, ofIds) == ((3, Set("30 1 4"))))
  }

  test("tasks that are not those of the files, in their order: nothing is answered") {
    val t = TestTable.create(schema)
    t.append(TestFiles.data(t, ids(1, 2), records = 20), TestFiles.data(t, ids(3, 4)))
    val r = relation(t, Covering)
    val (tasks, Some(plan)) = planned(r, Expressions.alwaysTrue()): @unchecked
    def asked(of: IndexedSeq[FileScanTask]) =
      IndexQuestions.aggregates(r.pinned, plan.files, of, AggregateQuestion(True, Nil, ofIds))
    assert(asked(tasks).map(_.answered.cardinality) == Right(2))
    for (other <- Seq(tasks.reverse, tasks.take(1), tasks :+ tasks.head))
      assert(asked(other) == Left(AggregateReason.NotFromIndex))
  }

  test("a task that is a part of a file: it is read") {
    val r = relation(table(disjoint(2): _*), Covering)
    val (tasks, Some(plan)) = planned(r, Expressions.alwaysTrue()): @unchecked
    def answered(asked: FileScanTask*) =
      IndexQuestions
        .aggregates(r.pinned, plan.files, asked.toIndexedSeq, AggregateQuestion(True, Nil, ofIds))
        .map(_.answered.stream().toArray.toSeq)
    assert(answered(tasks: _*) == Right(Seq(0, 1)))
    val part = tasks.head.split(500).asScala.head
    assert(answered(part, tasks.last) == Right(Seq(1)))
  }

  test("GROUP BY a column of one value beside nulls, and of one double: the files are read") {
    val nulls = Map("p" -> Stats.range(1, 1).copy(nulls = Some(3L)))
    assert(answer(table(nulls), Seq(CountRows), grouping = Seq(p)) == ((0, Set.empty)))
    val double = Map("d" -> Stats.range(1d, 1d).copy(nans = Some(0L)))
    assert(answer(table(double), Seq(CountRows), grouping = Seq(d)) == ((0, Set.empty)))
  }

  test("files without a record count") {
    val t = TestTable.create(schema)
    t.append(TestFiles.data(t, ids(1, 2), records = 0), TestFiles.data(t, ids(3, 4)))
    assert(answer(t, ofIds) == ((1, Set("10 3 4"))))
  }

  test("promoted columns, and types of another order") {
    val t = table(Map("p" -> Stats.range(5, 9)))
    t.load().updateSchema().updateColumn("p", Types.LongType.get()).commit()
    t.append(TestFiles.data(t, Map("p" -> Stats.range(3L, 4000000000L))))
    val wide = ColumnRef(4, LongType, "p")
    assert(answer(t, Seq(Least(wide), Greatest(wide))) == ((2, Set("3 4000000000"))))
    assert(ask(t, Seq(Least(ColumnRef(4, DateType, "p")))) == Left(Function("p")))
    assert(ask(t, Seq(Least(ColumnRef(99, IntType, "gone")))) == Left(Function("gone")))
  }

  test("a decimal promoted beyond 18 digits: files that were indexed before are read, so no group comes twice") {
    val t = TestTable.create(new Schema(optional(1, "m", Types.DecimalType.of(9, 2))))
    val price = JBigDecimal.valueOf(500, 2)
    t.append(TestFiles.data(t, Map("m" -> Stats.range(price, price))))
    assert(answer(t, Seq(CountRows)) == ((1, Set("10"))))
    t.load().updateSchema().updateColumn("m", Types.DecimalType.of(20, 2)).commit()
    t.append(TestFiles.data(t, Map("m" -> Stats.range(price, price))))
    val grouped = ask(t, Seq(CountRows), grouping = Seq(ColumnRef(1, DecimalType(20, 2), "m")))
    assert(grouped.map(found => (found.answered.cardinality, found.groups.size)) == Right((1, 1)))
  }

  test("GROUP BY a partition column: the partition's value, whatever the file says; NULL is a group") {
    val t = TestTable.create(schema, s => PartitionSpec.builderFor(s).identity("p").build())
    t.append(
      TestFiles.data(t, ids(0, 9), Seq(Int.box(1))),
      TestFiles.data(t, ids(10, 19) + ("p" -> Stats.range(5, 6)), Seq(Int.box(1))),
      TestFiles.data(t, ids(20, 29), Seq(null))
    )
    val asked = Seq(CountRows, CountValues(p), Greatest(p), Least(id))
    assert(answer(t, asked, grouping = Seq(p)) == ((3, Set("1 20 20 1 0", "null 10 0 null 20"))))
    assert(answer(t, Nil, grouping = Seq(p)) == ((3, Set("1", "null"))), "DISTINCT")
  }

  test("a condition is proven by the bounds of a partition column only if the partition's value is within them") {
    def files(value: Any, stats: Stats): Int = {
      val t = TestTable.create(schema, s => PartitionSpec.builderFor(s).identity("p").build())
      t.append(TestFiles.data(t, Map("p" -> stats), Seq(value)))
      answer(t, Seq(CountRows), Compare(p, CompareOp.GtEq, long(5)))._1
    }
    assert(files(Int.box(6), Stats.range(5, 6)) == 1)
    assert(files(Int.box(1), Stats.range(5, 6)) == 0)
    assert(files(null, Stats.range(5, 6)) == 0)
  }

  for (version <- Seq(1, 2))
    test(s"GROUP BY after the spec has changed, format version $version") {
      val t = TestTable.create(schema, s => PartitionSpec.builderFor(s).identity("p").build(), version)
      t.append(TestFiles.data(t, ids(0, 9), Seq(Int.box(1))))
      t.load().updateSpec().removeField("p").addField(Expressions.bucket("p", 4)).commit()
      val rest = (bucket: Int) => if (version == 1) Seq(null, Int.box(bucket)) else Seq(Int.box(bucket))
      t.append(
        TestFiles.data(t, ids(10, 19) + ("p" -> Stats.range(1, 1)), rest(2)),
        TestFiles.data(t, ids(20, 29) + ("p" -> Stats.range(1, 2)), rest(2)),
        TestFiles.data(t, ids(30, 39), rest(3))
      )
      assert(answer(t, Seq(CountRows), grouping = Seq(p)) == ((2, Set("1 20"))))
    }

  test("GROUP BY two columns, one of them of a single value in each file") {
    def file(q: Int, low: Int, high: Int) = Map("q" -> Stats.range(q, q), "p" -> Stats.range(low, high))
    val t = table(file(1, 2, 2), file(1, 2, 2), file(2, 2, 2), file(2, 2, 3))
    val q = ColumnRef(5, IntType, "q")
    assert(answer(t, Seq(CountRows), grouping = Seq(q, p)) == ((3, Set("1 2 20", "2 2 10"))))
    assert(answer(t, Seq(CountRows), grouping = Seq(q)) == ((4, Set("1 20", "2 20"))))
  }

  test("more groups than a plan should carry") {
    val t = TestTable.create(schema)
    t.append((0 until 10001).map(k => TestFiles.data(t, ids(k.toLong, k.toLong))): _*)
    assert(ask(t, Seq(CountRows), grouping = Seq(id)) == Left(ManyGroups(10000)))
    assert(answer(t, Seq(CountRows)) == ((10001, Set("100010"))))
  }

  test("no file is evaluated after the one with which there are too many groups") {
    val t = TestTable.create(schema)
    t.append((0 until 12000).map(k => TestFiles.data(t, ids(k.toLong, k.toLong))): _*)
    var evaluated = 0
    val same = new KeyFunction {
      override def single(lower: ZoneValue, upper: ZoneValue): Option[ZoneValue] = {
        evaluated += 1
        Some(lower)
      }
      override def ofNull: Option[ZoneValue] = None
    }
    val keys = Seq(GroupKey(id, Some(same), "f(id)"))
    assert(askOf(t, Seq(CountRows), True, keys, Expressions.alwaysTrue()) == Left(ManyGroups(10000)))
    assert(evaluated == 10001)
  }

  test("a prefix that Iceberg miscounts in characters: readers leave out rows by it, so nothing is answered") {
    val t = TestTable.create(schema, s => PartitionSpec.builderFor(s).truncate("s", 2).build())
    t.append(TestFiles.data(t, Map("s" -> Stats.range("\uD83D\uDE00ab", "\uD83D\uDE00cd")), Seq("\uD83D\uDE00a")))
    assert(ask(t, Seq(CountRows)).map(_.answered.cardinality) == Right(1))
    assert(ask(t, Seq(CountRows), pushed = Expressions.startsWith("s", "\uD83D\uDE00")) == Left(FewWholeFiles(0, 1)))
  }

  test("a scan knows what it was planned from; its refinements, its siblings and scans of Iceberg's plan do not") {
    val t = table(disjoint(4): _*)
    val (all, none) = (Expressions.alwaysTrue(), Expressions.lessThan("id", 10L))
    assert(planned(relation(t), all)._2.isEmpty)
    val r = relation(t, Covering)
    val (scan, sibling) = (r.newBatchScan().filter(all), r.newBatchScan().filter(none))
    def filesOf(s: BatchScan) = s.asInstanceOf[ZoneMapBatchScan].planned().toScala.map(_.files.count)
    def plan(s: BatchScan) = Using.resource(s.planFiles())(_.asScala.size)
    assert(filesOf(scan).isEmpty && plan(scan) == 4 && filesOf(scan).contains(4L))
    assert(
      filesOf(sibling).isEmpty && plan(sibling) == 1 && filesOf(sibling).contains(1L) && filesOf(scan).contains(4L))
    assert(filesOf(scan.filter(none)).isEmpty)
    val refined: Seq[BatchScan => BatchScan] = Seq(
      _.useSnapshot(t.current.snapshotId()),
      _.useRef("main"),
      _.option("a", "b"),
      _.project(t.load().schema()),
      _.caseSensitive(false),
      _.includeColumnStats(),
      _.includeColumnStats(java.util.List.of("id")),
      _.select(java.util.List.of("id")),
      _.ignoreResiduals(),
      _.planWith(java.util.concurrent.ForkJoinPool.commonPool()),
      _.metricsReporter(org.apache.iceberg.metrics.LoggingMetricsReporter.instance()),
      _.minRowsRequested(3L)
    )
    refined.foreach(refine => assert(refine(scan).isInstanceOf[ZoneMapBatchScan]))
  }
}
