// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.plan

import java.math.{BigDecimal => JBigDecimal}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.iceberg.{PartitionSpec, Schema}
import org.apache.iceberg.expressions.Expressions
import org.apache.iceberg.types.{Type, Types}
import org.apache.iceberg.types.Types.NestedField.optional
import org.scalatest.BeforeAndAfterEach
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.predicate._
import zonemap.core.value.{LongType, LongValue, StringType, ZoneValue, ZoneValues}
import zonemap.iceberg.convert.{IcebergValues, PartitionTuples, SourceConditions}
import zonemap.iceberg.prune.PartitionPruner
import zonemap.iceberg.testing.{OwnProcess, Rng, TestFiles, TestTable}

/** Conditions on columns, told from partitions that transforms make of them; the files have no bounds. */
class PartitionKeysTest extends AnyFunSuite with BeforeAndAfterEach with OwnProcess {
  import Planning._

  override def beforeEach(): Unit = process.restart()

  private val rng = new Rng(Rng.baseSeed)
  private val instant = Types.TimestampType.withZone()
  private val local = Types.TimestampType.withoutZone()
  private val decimal = Types.DecimalType.of(9, 2)
  private val wide = Types.DecimalType.of(30, 4)

  private def text(): String = rng.pick(Seq("", "a", "é", "\uD83D\uDCA9", "shop")) + rng.int(60)

  // type, its partition transforms, a random value in Iceberg's internal form
  private val cases: Seq[(Type, Seq[String], () => AnyRef)] = Seq(
    (Types.IntegerType.get(), Seq("identity", "bucket[7]", "truncate[10]"), () => Int.box(rng.int(200) - 100)),
    (Types.LongType.get(), Seq("identity", "bucket[7]", "truncate[10]"), () => Long.box(rng.int(200) * 1000003L - 7)),
    (Types.StringType.get(), Seq("identity", "bucket[7]", "truncate[2]"), () => text()),
    (Types.DateType.get(), Seq("identity", "bucket[7]", "day", "month", "year"), () => Int.box(rng.int(900) - 300)),
    (instant, Seq("bucket[7]", "hour", "day", "month", "year"), () => Long.box(rng.int(900) * 7200000000L - 3)),
    (local, Seq("bucket[7]", "hour", "day", "month", "year"), () => Long.box(rng.int(900) * 7200000000L + 5)),
    (decimal, Seq("identity", "bucket[7]", "truncate[50]"), () => JBigDecimal.valueOf(rng.int(4000) - 2000L, 2)),
    (wide, Seq("identity", "bucket[7]", "truncate[50]"), () => JBigDecimal.valueOf(rng.int(4000) - 2000L, 4)),
    (Types.BooleanType.get(), Seq("identity"), () => Boolean.box(rng.chance(50)))
  )

  private def specOf(schema: Schema, transform: String): PartitionSpec = {
    val builder = PartitionSpec.builderFor(schema)
    val Width = """(\w+)\[(\d+)]""".r
    (transform match {
      case "identity"           => builder.identity("x")
      case "hour"               => builder.hour("x")
      case "day"                => builder.day("x")
      case "month"              => builder.month("x")
      case "year"               => builder.year("x")
      case Width("bucket", n)   => builder.bucket("x", n.toInt)
      case Width("truncate", n) => builder.truncate("x", n.toInt)
    }).build()
  }

  private def partitionOf(spec: PartitionSpec, value: AnyRef): AnyRef = {
    val field = spec.fields().get(0)
    val bound =
      field
        .transform()
        .asInstanceOf[org.apache.iceberg.transforms.Transform[AnyRef, AnyRef]]
        .bind(spec.schema().findType(1))
    bound(value)
  }

  /** A table with a file in its own partition for each value, and one for null; the value is part of the path. */
  private def filled(x: Type, transform: String, values: Seq[AnyRef]): TestTable = {
    val schema = new Schema(optional(1, "x", x))
    val table = TestTable.create(schema, specOf(_, transform))
    val files = values.indices.map { i =>
      TestFiles.data(
        table,
        partition = Seq(partitionOf(table.spec, values(i))),
        path = s"mem://${table.name}/$i.parquet")
    }
    table.append(files :+ TestFiles.data(table, partition = Seq(null), path = s"mem://${table.name}/null.parquet"): _*)
    table
  }

  private def planned(table: TestTable, predicate: Predicate): Set[String] = {
    val relation = Planning.relation(table, Covering).withFunctions(predicate, "digest")
    val bySelection =
      Using.resource(relation.newBatchScan().planFiles())(_.asScala.map(_.asFileScanTask().file().location()).toSet)
    val live = Planning.relation(table, Covering).pinned.liveFiles.get
    val dropped = live.pathsWithout(live.keep(predicate)).asScala.toSet
    assert(live.count == dropped.size + bySelection.size && (dropped & bySelection).isEmpty)
    bySelection
  }

  /**
   * The files of these partitions. For times before 1970 also the files of neighbouring partitions, which Iceberg
   * retains because old writers rounded such times up.
   */
  private def inPartitions(table: TestTable, values: Seq[AnyRef], partitions: Set[AnyRef]): Set[String] =
    values.indices
      .filter { i =>
        partitionOf(table.spec, values(i)) match {
          case n: Integer => partitions(n) || (n <= 0 && partitions(Int.box(n - 1)))
          case other      => partitions(other)
        }
      }
      .map(path(table, _))
      .toSet

  private def column(x: Type): ColumnRef = ColumnRef(1, IcebergValues.columnType(x).get, "x")

  private def encoded(x: Type, value: AnyRef): ZoneValue = IcebergValues.encodeLiteral(column(x).columnType, value).get

  private def path(table: TestTable, name: Any): String = s"mem://${table.name}/$name.parquet"

  test("keys leave files of the partitions that they are in, for each transform and type (S68)") {
    for ((x, transforms, value) <- cases; transform <- transforms) {
      val values = Seq.fill(40)(value())
      val table = filled(x, transform, values)
      val keys = Seq.fill(3)(rng.pick(values)) :+ value()
      val kept = planned(table, In(column(x), SortedValues.of(keys.map(encoded(x, _)))))
      val wanted = keys.map(partitionOf(table.spec, _)).toSet
      val expected = values.indices.filter(i => wanted(partitionOf(table.spec, values(i)))).map(path(table, _)).toSet
      val clue = s"seed ${rng.seed}: $x $transform ${keys.mkString(", ")}"
      assert(expected.subsetOf(kept) && !kept(path(table, "null")), clue)
      assert(kept.subsetOf(inPartitions(table, values, wanted)), clue)
    }
  }

  test("ranges leave files of the partitions between their ends (S68)") {
    for ((x, transforms, value) <- cases; transform <- transforms if x != Types.BooleanType.get()) {
      val values = Seq.fill(60)(value())
      val table = filled(x, transform, values)
      val sorted = values.sortWith((a, b) => encoded(x, a).compare(encoded(x, b)) < 0)
      val ranges = ValueRanges.between(encoded(x, sorted(20)), encoded(x, sorted(26)))
      for (asked <- Seq(ranges, ranges.complement)) {
        val kept = planned(table, InRanges(column(x), asked))
        val clue = s"seed ${rng.seed}: $x $transform $asked"
        values.indices
          .filter(i => asked.contains(encoded(x, values(i))))
          .foreach(i => assert(kept(path(table, i)), clue))
        if (asked == ranges && !transform.startsWith("bucket")) {
          val between = sorted.slice(20, 27).map(partitionOf(table.spec, _)).toSet
          assert(kept.subsetOf(inPartitions(table, values, between)), clue)
        }
      }
    }
  }

  test("few whole numbers between two ends are told from their buckets (S68)") {
    val x = Types.LongType.get()
    val values = (0 until 200).map(i => Long.box(i.toLong): AnyRef)
    val table = filled(x, "bucket[100]", values)
    def kept(from: Long, until: Long): Int =
      planned(table, InRanges(column(x), ValueRanges.between(LongValue(from), LongValue(until)))).size
    assert(kept(5, 6) < 12 && kept(5, 10) < 30)
    assert(kept(0, 100000) == 201 && kept(Long.MinValue, Long.MaxValue) == 201)
  }

  test("where transforms wrap, ranges tell nothing of partitions (S69)") {
    def kept(x: Type, transform: String, value: AnyRef, from: Option[Long], until: Option[Long]): Boolean = {
      val table = filled(x, transform, Seq(value))
      val ranges = ValueRanges.between(from.map(LongValue(_)).orNull, until.map(LongValue(_)).orNull)
      assert(planned(table, In(column(x), SortedValues.of(Seq(encoded(x, value))))) == Set(path(table, 0)))
      planned(table, InRanges(column(x), ranges))(path(table, 0))
    }
    val (int, long) = (Types.IntegerType.get(), Types.LongType.get())
    assert(kept(int, "truncate[10]", Int.box(Int.MinValue + 1), None, Some(-5)))
    assert(kept(long, "truncate[10]", Long.box(Long.MinValue + 1), None, Some(-5)))
    assert(kept(long, "truncate[10]", Long.box(Long.MinValue + 1), Some(Long.MinValue), Some(-5)))
    assert(!kept(long, "truncate[10]", Long.box(500), Some(Long.MinValue + 10), Some(-5)))
    assert(kept(instant, "hour", Long.box(Long.MaxValue - 1), Some(0), None))
    assert(kept(instant, "hour", Long.box(Long.MinValue + 1), None, Some(0)))
    assert(!kept(instant, "hour", Long.box(7200000000L), Some(1L << 50), Some(1L << 60)))
  }

  test("any number of keys; above ten thousand they are ranges, which tell nothing of buckets (S68)") {
    val x = Types.LongType.get()
    val column = this.column(x)
    val values = (0 until 100).map(i => Long.box(i * 1000L): AnyRef)
    def kept(transform: String, keys: Int): Int =
      planned(filled(x, transform, values), In(column, SortedValues.ofLongs(Array.tabulate(keys)(-1L - _)))).size
    assert(kept("truncate[1000]", 1500) == 0)
    assert(kept("truncate[1000]", SourceConditions.MaxValues * 5) == 0)
    assert(kept("bucket[100]", 5) < 12)
    assert(kept("bucket[100]", SourceConditions.MaxValues + 1) == 101)
  }

  test("files of other specs, and of none, are kept or told by their own (S68)") {
    val schema = new Schema(optional(1, "x", Types.LongType.get()), optional(2, "y", Types.LongType.get()))
    val table = TestTable.create(schema)
    table.append(TestFiles.data(table, path = path(table, "none")))
    table.load().updateSpec().addField(Expressions.bucket("x", 8)).commit()
    table.append((0 until 8).map(b => TestFiles.data(table, partition = Seq(b), path = path(table, s"b$b"))): _*)
    table.load().updateSpec().addField("y").commit()
    table.append(TestFiles.data(table, partition = Seq(Int.box(3), Long.box(5)), path = path(table, "b3y5")))
    table.load().updateSpec().removeField(Expressions.bucket("x", 8)).commit()
    table.append(TestFiles.data(table, partition = Seq(5L), path = path(table, "y5")))
    val x = ColumnRef(1, LongType, "x")
    val bucketed = specOf(new Schema(schema.findField(1)), "bucket[8]")
    def isKey(bucket: Int): Predicate = {
      val key = (0L until 100L).find(v => partitionOf(bucketed, Long.box(v)) == Int.box(bucket)).get
      Compare(ColumnRef(1, LongType, "x"), CompareOp.Eq, LongValue(key))
    }
    val y = Compare(ColumnRef(2, LongType, "y"), CompareOp.Eq, LongValue(6))
    def names(kept: Set[String]): Set[String] = kept.map(_.split("[/.]").takeRight(2).head)
    assert(names(planned(table, isKey(3))) == Set("none", "b3", "b3y5", "y5"))
    assert(names(planned(table, y)) == (0 until 8).map(b => s"b$b").toSet + "none")
    assert(names(planned(table, Or(Seq(isKey(4), y)))) == (0 until 8).map(b => s"b$b").toSet ++ Set("none", "y5"))
    assert(names(planned(table, And(Seq(isKey(3), y)))) == Set("none", "b3"))
  }

  test("files of a newer spec than the table object knows are kept (S68)") {
    val table = filled(Types.LongType.get(), "identity", Seq(Long.box(5), Long.box(6)))
    val known = PartitionTuples.specsById(table.load().specs())
    table.load().updateSpec().removeField("x").addField(Expressions.bucket("x", 8)).commit()
    table.append(TestFiles.data(table, partition = Seq(Int.box(3)), path = path(table, "newer")))
    val pruner = PartitionPruner.of(Compare(ColumnRef(1, LongType, "x"), CompareOp.Eq, LongValue(5)), known.get)
    val kept = Planning.relation(table, Covering).pinned.covered.get.index.segments.flatMap { live =>
      pruner.keep(live.segment, live.liveRows()).toArray.map(live.segment.path(_))
    }
    assert(kept.toSet == Set(path(table, 0), path(table, "newer")))
  }

  test("renamed and promoted columns, in files from before (S68)") {
    val table = filled(Types.IntegerType.get(), "bucket[16]", (0 until 50).map(i => Int.box(i): AnyRef))
    table.load().updateSchema().updateColumn("x", Types.LongType.get()).renameColumn("x", "a.b").commit()
    table.append(TestFiles.data(table, partition = Seq(3), path = path(table, "later")))
    val name = table.load().schema().findColumnName(1)
    val kept = planned(table, In(ColumnRef(1, LongType, name), SortedValues.ofLongs(Array(7L, 1L << 40))))
    assert(kept(path(table, 7)) && kept.size < 20)
    assert(
      planned(table, In(ColumnRef(1, StringType, name), SortedValues.of(Seq(ZoneValues.ofString("7"))))).size == 52)
  }

  test("what Spark and Iceberg order or read differently tells nothing (S69)") {
    def all(x: Type, transform: String, value: AnyRef, predicate: ColumnRef => Predicate) = {
      val table = filled(x, transform, Seq(value))
      assert(planned(table, predicate(column(x))).size == 2, s"$x $transform")
    }
    all(Types.DoubleType.get(), "identity", Double.box(-0.0), In(_, SortedValues.of(Seq(ZoneValues.ofDouble(0)))))
    all(Types.DoubleType.get(), "identity", Double.box(Double.NaN), In(_, SortedValues.of(Seq(ZoneValues.ofDouble(0)))))
    all(Types.StringType.get(), "identity", "a\uFFFD", In(_, SortedValues.of(Seq(ZoneValues.ofString("b\uFFFD")))))
    all(
      Types.LongType.get(),
      "bucket[9]",
      Long.box(4),
      column => Or(Seq(Compare(column, CompareOp.Eq, LongValue(5)), Unknown(""))))
    all(Types.LongType.get(), "bucket[9]", Long.box(4), NotIn(_, SortedValues.ofLongs(Array(4L))))
  }

  test("how many files a value is in on average is told from partitions too") {
    val x = Types.LongType.get()
    def hits(transform: String): Double =
      Planning
        .relation(filled(x, transform, (0 until 64).map(i => Long.box(i.toLong))), Covering)
        .pinned
        .liveFiles
        .get
        .averageHits(column(x))
    assert(
      hits("identity") < 0.05 && hits("bucket[8]") > 0.05 && hits("bucket[8]") < 0.3 && hits("truncate[1000]") > 0.9)
  }
}
