// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.plan

import java.math.BigDecimal
import java.nio.ByteBuffer
import java.util.UUID

import scala.jdk.CollectionConverters._

import org.apache.iceberg._
import org.apache.iceberg.expressions.{Expression, Expressions}
import org.apache.iceberg.types.{Type, Types}
import org.apache.iceberg.types.Types.NestedField.{optional, required}
import org.scalatest.BeforeAndAfterEach
import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.report.{PlanMode, StockReason}
import zonemap.iceberg.testing.{OwnProcess, Stats, TestFiles, TestTable}

/** The same scan planned by the index and by Iceberg: every task equal in every field. */
class StockEqualityTest extends AnyFunSuite with BeforeAndAfterEach with OwnProcess {
  import Expressions._
  import Planning._

  private val schema = new Schema(
    required(1, "id", Types.LongType.get()),
    optional(2, "k", Types.IntegerType.get()),
    optional(3, "name", Types.StringType.get()),
    optional(4, "ts", Types.TimestampType.withoutZone())
  )

  override def beforeEach(): Unit = process.restart()

  private def range(k: Int): Map[String, Stats] = Map("id" -> Stats.range(k * 10L, k * 10L + 9))

  private val sorted: DataFiles.Builder => Unit = { builder =>
    builder.withSplitOffsets(java.util.List.of(4L, 400L)).withSortOrderId(0): Unit
  }

  /** Builds the index, compares both plans and returns the plan from the index. */
  private def same(
      table: TestTable,
      filter: Expression = alwaysTrue(),
      refine: Refine = identity,
      fewerThanIceberg: Boolean = false): Planned = {
    build(table)
    compared(table, filter, refine, fewerThanIceberg)
  }

  private def compared(
      table: TestTable,
      filter: Expression = alwaysTrue(),
      refine: Refine = identity,
      fewerThanIceberg: Boolean = false): Planned = {
    val theirs = stock(table, filter, refine)
    val planned = ours(table, filter, Covering, refine)
    assert(planned.reason.isEmpty, planned.report.table)
    val paths = theirs.map(_.file().location()).toSet
    if (fewerThanIceberg) assert(planned.paths.subsetOf(paths) && planned.paths.size < paths.size)
    else assert(planned.paths == paths)
    assert(difference(planned.tasks, theirs).isEmpty, difference(planned.tasks, theirs))
    planned
  }

  private def deletesOf(planned: Planned, path: String): Set[String] =
    planned.tasks.find(_.file().location() == path).get.deletes().asScala.map(_.location()).toSet

  for (version <- 1 to 3; (name, spec, tuples) <- partitionings)
    test(s"v$version, $name: tasks are equal with and without a filter, and with residuals ignored") {
      val table = TestTable.create(schema, spec, version)
      tuples.zipWithIndex.foreach { case (tuple, k) =>
        table.append(
          TestFiles.data(table, range(k), tuple, change = sorted),
          TestFiles.data(table, range(k + 100), tuple, records = 20 + k))
      }
      same(table)
      for {
        filter <- Seq(
          lessThan("id", 15L),
          equal("k", 1),
          startsWith("name", "b"),
          and(equal("k", 1), greaterThan("id", 1000L)),
          isNull("k"))
        refine <- Seq[Refine](identity, _.ignoreResiduals(), _.caseSensitive(false), _.select("id"))
      } compared(table, filter, refine)
    }

  private def partitionings: Seq[(String, Schema => PartitionSpec, Seq[Seq[Any]])] = Seq(
    ("unpartitioned", (_: Schema) => PartitionSpec.unpartitioned(), Seq.fill(3)(Nil)),
    ("identity", (s: Schema) => PartitionSpec.builderFor(s).identity("k").build(), Seq(Seq(1), Seq(2), Seq(null))),
    ("bucket", (s: Schema) => PartitionSpec.builderFor(s).bucket("id", 8).build(), Seq(Seq(1), Seq(2), Seq(7))),
    ("days", (s: Schema) => PartitionSpec.builderFor(s).day("ts").build(), Seq(Seq(18000), Seq(-1), Seq(null))),
    (
      "truncate",
      (s: Schema) => PartitionSpec.builderFor(s).truncate("name", 2).build(),
      Seq(Seq("aa"), Seq("bb"), Seq(null))),
    (
      "identity and hours",
      (s: Schema) => PartitionSpec.builderFor(s).identity("name").hour("ts").build(),
      Seq(Seq("b", 4), Seq("", null), Seq(null, -3)))
  )

  test("evolved specs: files of every spec, with the filter exact on each") {
    val table = TestTable.create(schema)
    table.append(TestFiles.data(table, range(1)))
    table.load().updateSpec().addField("k").commit()
    table.append(TestFiles.data(table, range(2), Seq(1)), TestFiles.data(table, range(3), Seq(2)))
    table.load().updateSpec().addField(bucket[AnyRef]("id", 4)).removeField("k").commit()
    table.append(TestFiles.data(table, range(4), if (table.spec.fields().size() == 1) Seq(3) else Seq(null, 3)))
    assert(same(table, equal("k", 1)).tasks.size == 3)
  }

  for (floating <- Seq[Type](Types.FloatType.get(), Types.DoubleType.get()))
    test(s"partitions of NaN and of the two zeros of $floating: their deletes are those of Iceberg") {
      val columns = new Schema(required(1, "id", Types.LongType.get()), optional(2, "x", floating))
      val table = TestTable.create(columns, s => PartitionSpec.builderFor(s).identity("x").build())
      val tuples = Seq(Double.NaN, 0.0, -0.0, 1.0).map { x =>
        Seq[Any](if (floating == Types.FloatType.get()) Float.box(x.toFloat) else Double.box(x))
      }
      val files = tuples.zipWithIndex.map { case (tuple, k) => TestFiles.data(table, range(k), tuple) }
      table.append(files: _*)
      files.foreach(f => table.delete(TestFiles.equalityDeletes(table, Seq("id"), table.spec, f.partition())))
      files.foreach(f => table.delete(TestFiles.positionDeletes(table, table.spec, f.partition())))
      val planned = same(table)
      val expected = stock(table).map(t => t.file().location() -> t.deletes().asScala.map(_.location()).toSet)
      expected.foreach { case (path, deletes) =>
        assert(deletes.size == 2)
        assert(deletesOf(planned, path) == deletes)
      }
    }

  private val types: Seq[(Type, Any, Any, Any)] = Seq(
    (Types.BooleanType.get(), false, false, true),
    (Types.IntegerType.get(), -5, 5, 6),
    (Types.LongType.get(), -5L, 5L, 6L),
    (Types.FloatType.get(), -5f, 5f, 6f),
    (Types.DoubleType.get(), -5d, 5d, 6d),
    (Types.DateType.get(), -5, 5, 6),
    (Types.TimeType.get(), 1L, 5L, 6L),
    (Types.TimestampType.withoutZone(), -5L, 5L, 6L),
    (Types.TimestampType.withZone(), -5L, 5L, 6L),
    (Types.TimestampNanoType.withoutZone(), -5000L, 5000L, 6L),
    (Types.TimestampNanoType.withZone(), -5000L, 5000L, 6L),
    (Types.StringType.get(), "b", "d", "e"),
    (Types.UUIDType.get(), new UUID(1, 1), new UUID(1, 5), new UUID(1, 6)),
    (
      Types.FixedType.ofLength(2),
      ByteBuffer.wrap(Array[Byte](1, 1)),
      ByteBuffer.wrap(Array[Byte](1, 5)),
      ByteBuffer.wrap(Array[Byte](2, 0))),
    (
      Types.BinaryType.get(),
      ByteBuffer.wrap(Array[Byte](1)),
      ByteBuffer.wrap(Array[Byte](3)),
      ByteBuffer.wrap(Array[Byte](4))),
    (Types.DecimalType.of(9, 2), new BigDecimal("-5.00"), new BigDecimal("5.00"), new BigDecimal("6.00")),
    (
      Types.DecimalType.of(38, 10),
      new BigDecimal("-5.0000000000"),
      new BigDecimal("5.0000000000"),
      new BigDecimal("6.0000000000"))
  )

  for ((valueType, lower, upper, above) <- types)
    test(s"column of type $valueType: bounds prune as Iceberg's do") {
      val table = TestTable.create(
        new Schema(required(1, "id", Types.LongType.get()), optional(2, "x", valueType)),
        formatVersion = 3)
      table.append(
        TestFiles.data(table, Map("x" -> Stats(Some(10), Some(0), Some(0), Some(lower), Some(upper)))),
        TestFiles.data(table, Map("x" -> Stats(Some(10), Some(10)))),
        TestFiles.data(table)
      )
      val literal = above.asInstanceOf[AnyRef]
      assert(same(table, equal("x", literal)).tasks.size == 1, "only the file without stats may hold the value")
      assert(compared(table, isNull[AnyRef]("x")).tasks.size == 2)
      assert(compared(table, notNull[AnyRef]("x")).tasks.size == 2)
      assert(compared(table, in[AnyRef]("x", literal)).tasks.size == 1)
      assert(compared(table, notEqual("x", literal)).tasks.size == 3)
    }

  test("identity partitions of every type keep their tuples") {
    for ((valueType, lower, upper, _) <- types) {
      val table = TestTable.create(
        new Schema(required(1, "id", Types.LongType.get()), optional(2, "x", valueType)),
        PartitionSpec.builderFor(_).identity("x").build(),
        formatVersion = 3)
      table.append(
        TestFiles.data(table, partition = Seq(lower)),
        TestFiles.data(table, partition = Seq(upper)),
        TestFiles.data(table, partition = Seq(null)))
      same(table)
      compared(table, isNull[AnyRef]("x"))
    }
  }

  private def partitioned(version: Int = 2): TestTable =
    TestTable.create(schema, PartitionSpec.builderFor(_).identity("k").build(), version)

  test("v1 and v2: a spec whose fields were all removed keeps its tuples, void or not") {
    for (version <- 1 to 2) {
      val table = partitioned(version)
      table.append(TestFiles.data(table, range(1), Seq(1)))
      table.load().updateSpec().removeField("k").commit()
      table.append(TestFiles.data(table, range(2), Seq.fill(table.spec.fields().size())(null)))
      if (version > 1) table.delete(TestFiles.equalityDeletes(table, Seq("id"), table.spec))
      same(table)
    }
  }

  test("v3: first row ids, of files and of manifests written anew") {
    val table = partitioned(version = 3)
    (0 until 3).foreach(k =>
      table.append(TestFiles.data(table, range(k), Seq(k)), TestFiles.data(table, range(k + 5), Seq(k))))
    assert(same(table).tasks.map(_.file().firstRowId()).toSet.size == 6)
    table.load().rewriteManifests().clusterBy(_ => "one").commit()
    compared(table)
    same(table)
  }

  test("v2 upgraded to v3: row ids are assigned to manifests the index knew without") {
    val table = partitioned()
    table.append(TestFiles.data(table, range(1), Seq(1)))
    same(table)
    val ops = table.operations
    ops.commit(ops.current(), ops.current().upgradeToFormatVersion(3))
    table.append(TestFiles.data(table, range(2), Seq(1)))
    compared(table)
    same(table)
  }

  test("position deletes: of a partition, of a file by name, of a file by equal path bounds; by sequence number") {
    val table = partitioned()
    val before = TestFiles.data(table, range(1), Seq(1))
    val other = TestFiles.data(table, range(2), Seq(2))
    val sibling = TestFiles.data(table, range(3), Seq(1))
    table.append(before, other, sibling)
    val ofPartition = TestFiles.positionDeletes(table, table.spec, before.partition())
    val byName = TestFiles.positionDeletesOf(table, before, byBounds = false)
    val byBounds = TestFiles.positionDeletesOf(table, before, byBounds = true)
    table.delete(ofPartition, byName, byBounds)
    val after = TestFiles.data(table, range(4), Seq(1))
    table.append(after)
    val planned = same(table)
    assert(deletesOf(planned, before.location()) == Set(ofPartition, byName, byBounds).map(_.location()))
    assert(deletesOf(planned, sibling.location()) == Set(ofPartition.location()))
    assert(deletesOf(planned, other.location()).isEmpty && deletesOf(planned, after.location()).isEmpty)
  }

  test("position deletes of several files: path bounds of one length that differ name no single file") {
    val table = partitioned()
    val files = (0 until 2).map(k => TestFiles.data(table, range(k), Seq(1)))
    table.append(files: _*)
    val delete = TestFiles.positionDeletesBetween(table, files.head, files.last)
    table.delete(delete)
    val planned = same(table)
    files.foreach(file => assert(deletesOf(planned, file.location()) == Set(delete.location())))
  }

  test("position deletes committed with the file they delete from apply to it") {
    val table = partitioned()
    val file = TestFiles.data(table, range(1), Seq(1))
    val own = TestFiles.positionDeletes(table, table.spec, file.partition())
    table.load().newRowDelta().addRows(file).addDeletes(own).commit()
    assert(deletesOf(same(table), file.location()) == Set(own.location()))
  }

  test("equality deletes: older files only, not files of the same commit") {
    val table = partitioned()
    val older = TestFiles.data(table, range(1), Seq(1))
    table.append(older)
    val together = TestFiles.data(table, range(2), Seq(1))
    val delete = TestFiles.equalityDeletes(table, Seq("id"), table.spec, older.partition())
    table.load().newRowDelta().addRows(together).addDeletes(delete).commit()
    val planned = same(table)
    assert(deletesOf(planned, older.location()) == Set(delete.location()))
    assert(deletesOf(planned, together.location()).isEmpty)
  }

  test("equality deletes of an unpartitioned spec apply to every partition, those of a partition to it alone") {
    val table = TestTable.create(schema)
    val first = TestFiles.data(table, range(1))
    table.append(first)
    val unpartitioned = table.spec
    table.load().updateSpec().addField("k").commit()
    val (one, two) = (TestFiles.data(table, range(2), Seq(1)), TestFiles.data(table, range(3), Seq(2)))
    table.append(one, two)
    val global = TestFiles.equalityDeletes(table, Seq("id"), unpartitioned)
    val ofOne = TestFiles.equalityDeletes(table, Seq("id"), table.spec, one.partition())
    table.delete(global, ofOne)
    val planned = same(table)
    assert(deletesOf(planned, first.location()) == Set(global.location()))
    assert(deletesOf(planned, one.location()) == Set(global, ofOne).map(_.location()))
    assert(deletesOf(planned, two.location()) == Set(global.location()))
  }

  private val deleteStats: Seq[(String, Stats, Stats, Boolean)] = Seq(
    ("ranges that meet", Stats.range(1, 5), Stats.range(5, 9), true),
    ("ranges apart", Stats.range(1, 5), Stats.range(6, 9), false),
    ("no stats of the delete", Stats.range(1, 5), Stats(), true),
    ("no stats of the file", Stats(), Stats.range(6, 9), true),
    (
      "null rows, null deleted",
      Stats(Some(10), Some(2), None, Some(1), Some(5)),
      Stats(Some(4), Some(1), None, Some(6), Some(9)),
      true),
    (
      "null rows, no null deleted",
      Stats(Some(10), Some(2), None, Some(1), Some(5)),
      Stats(Some(4), Some(0), None, Some(6), Some(9)),
      false),
    (
      "only null rows, no null deleted",
      Stats(Some(10), Some(10)),
      Stats(Some(4), Some(0), None, Some(6), Some(9)),
      false),
    (
      "no null row, only null deleted",
      Stats(Some(10), Some(0), None, Some(1), Some(5)),
      Stats(Some(4), Some(4)),
      false),
    (
      "null counts unknown",
      Stats(Some(10), None, None, Some(1), Some(5)),
      Stats(Some(4), Some(1), None, Some(6), Some(9)),
      true)
  )

  for ((name, data, delete, applies) <- deleteStats)
    test(s"equality deletes, $name: ${if (applies) "applied" else "left out"}") {
      val table = TestTable.create(schema)
      val file = TestFiles.data(table, Map("k" -> data))
      table.append(file)
      table.delete(TestFiles.equalityDeletes(table, Seq("k"), stats = Map("k" -> delete)))
      assert(same(table).tasks.head.deletes().isEmpty != applies)
    }

  private def withColumn(valueType: Type): TestTable =
    TestTable.create(new Schema(required(1, "id", Types.LongType.get()), optional(2, "x", valueType)))

  test("equality deletes on doubles are never left out by bounds, which do not tell of NaN") {
    val table = withColumn(Types.DoubleType.get())
    table.append(TestFiles.data(table, Map("x" -> Stats.range(1d, 2d))))
    table.delete(TestFiles.equalityDeletes(table, Seq("x"), stats = Map("x" -> Stats.range(5d, 6d))))
    build(table)
    assert(ours(table).tasks.head.deletes().size == 1)
  }

  test("equality deletes on uuids are never left out by bounds, which writers order in two ways") {
    val table = withColumn(Types.UUIDType.get())
    val inFile = Stats.range(new UUID(0x9000000000000000L, 0), new UUID(0xa000000000000000L, 0))
    table.append(TestFiles.data(table, Map("x" -> inFile)))
    val bySignedLongs = Stats.range(new UUID(Long.MinValue, 0), new UUID(Long.MaxValue, 0))
    table.delete(TestFiles.equalityDeletes(table, Seq("x"), stats = Map("x" -> bySignedLongs)))
    build(table)
    assert(ours(table).tasks.head.deletes().size == 1)
  }

  test("null counts of a required column leave out no equality delete") {
    val table =
      TestTable.create(new Schema(required(1, "id", Types.LongType.get()), optional(2, "x", Types.LongType.get())))
    val noNulls = Stats(values = Some(4L), nulls = Some(0L))
    val file = TestFiles.data(table, Map("id" -> noNulls, "x" -> noNulls))
    table.append(file)
    val allNull = Stats(values = Some(4L), nulls = Some(4L))
    val deletes = Seq("id", "x").map(c => TestFiles.equalityDeletes(table, Seq(c), stats = Map(c -> allNull)))
    table.delete(deletes: _*)
    assert(deletesOf(same(table), file.location()) == Set(deletes.head.location()))
  }

  test("equality deletes by a field of a struct are planned by Iceberg, as long as the snapshot has them") {
    val struct = Types.StructType.of(optional(3, "x", Types.IntegerType.get()))
    val table = TestTable.create(new Schema(optional(1, "id", Types.LongType.get()), optional(2, "st", struct)))
    table.append(TestFiles.data(table, Map("id" -> Stats.range(1L, 2L))))
    val deletes = Seq(Seq("id"), Seq("id", "st.x")).map(TestFiles.equalityDeletes(table, _))
    table.delete(deletes.head)
    build(table)
    assert(ours(table).tasks.head.deletes().size == 1 && compared(table).mode == PlanMode.Exact)
    table.delete(deletes.last)
    build(table)
    val ofStruct = PlanMode.Stock(StockReason.Unindexable("an equality delete compares a field of a struct"))
    assert(ours(table).mode == ofStruct)
    table.load().newRewrite().deleteFile(deletes.last).commit()
    build(table)
    assert(ours(table).mode != ofStruct && compared(table).tasks.head.deletes().size == 1)
  }

  test("equality deletes on a decimal promoted beyond 18 digits apply to files that were indexed before") {
    val table = withColumn(Types.DecimalType.of(9, 2))
    table.append(TestFiles.data(table, Map("x" -> Stats.range(new BigDecimal("1.00"), new BigDecimal("5.00")))))
    ours(table, settings = Covering)
    table.load().updateSchema().updateColumn("x", Types.DecimalType.of(20, 2)).commit()
    val deleted = Stats.range(new BigDecimal("3.00"), new BigDecimal("3.00"))
    table.delete(TestFiles.equalityDeletes(table, Seq("x"), stats = Map("x" -> deleted)))
    assert(compared(table).tasks.head.deletes().size == 1)
  }

  test("deletion vectors share a Puffin file and replace position deletes") {
    val table = partitioned()
    val files = (0 until 3).map(k => TestFiles.data(table, range(k), Seq(1)))
    table.append(files: _*)
    val old = TestFiles.positionDeletes(table, table.spec, files.head.partition())
    table.delete(old)
    val ops = table.operations
    ops.commit(ops.current(), ops.current().upgradeToFormatVersion(3))
    table.delete(
      TestFiles.vector(table, files(0), "mem://lake/dv.puffin", 4),
      TestFiles.vector(table, files(1), "mem://lake/dv.puffin", 44))
    val planned = same(table)
    assert(deletesOf(planned, files(0).location()) == Set("mem://lake/dv.puffin"))
    assert(
      planned.tasks
        .flatMap(_.deletes().asScala)
        .filter(_.format() == FileFormat.PUFFIN)
        .map(_.contentOffset().toLong)
        .toSet == Set(4L, 44L))
    assert(deletesOf(planned, files(2).location()) == Set(old.location()))
  }

  test("rewritten manifests, deleted entries, overwrites, removed delete files") {
    val table = partitioned()
    val files = (0 until 6).map(k => TestFiles.data(table, range(k), Seq(k % 2)))
    files.grouped(2).foreach(group => table.append(group: _*))
    same(table)
    table.load().newDelete().deleteFile(files(0)).commit()
    compared(table)
    table.load().rewriteManifests().clusterBy(_.location()).commit()
    compared(table)
    same(table)
    val delete = TestFiles.positionDeletes(table, table.spec, files(1).partition())
    table.delete(delete)
    compared(table)
    table.load().newRewrite().deleteFile(delete).commit()
    assert(compared(table).tasks.forall(_.deletes().isEmpty))
    table
      .load()
      .newOverwrite()
      .overwriteByRowFilter(equal("k", 1))
      .addFile(TestFiles.data(table, range(9), Seq(1)))
      .commit()
    assert(compared(table).tasks.size == 3)
    same(table)
  }

  test("branches, tags, rollback and cherry-pick are snapshots like any other") {
    val table = partitioned()
    table.append(TestFiles.data(table, range(1), Seq(1)))
    val first = table.current.snapshotId()
    table.load().manageSnapshots().createBranch("b", first).createTag("v", first).commit()
    table.append(TestFiles.data(table, range(2), Seq(1)))
    table.load().newAppend().appendFile(TestFiles.data(table, range(3), Seq(1))).toBranch("b").commit()
    same(table)
    for ((refine, files) <- Seq[(Refine, Int)](
        (_.useRef("b"), 2),
        (_.useRef("v"), 1),
        (_.useSnapshot(first), 1),
        (identity, 2)))
      assert(compared(table, refine = refine).tasks.size == files)
    table.load().newAppend().appendFile(TestFiles.data(table, range(4), Seq(1))).stageOnly().commit()
    val staged = table.load().snapshots().asScala.maxBy(_.sequenceNumber()).snapshotId()
    table.load().manageSnapshots().cherrypick(staged).commit()
    assert(compared(table).tasks.size == 3)
    table.load().manageSnapshots().rollbackTo(first).commit()
    assert(compared(table).tasks.size == 1)
  }

  test("int promoted to long: old bounds, partition tuples and time travel, in both directions") {
    val table = partitioned()
    table.append(TestFiles.data(table, Map("k" -> Stats.range(7, 7)), Seq(7)))
    val old = table.current.snapshotId()
    table.load().updateSchema().updateColumn("k", Types.LongType.get()).commit()
    table.append(TestFiles.data(table, Map("k" -> Stats.range(8L, 8L)), Seq(8L)))
    assert(same(table, equal("k", 7L)).tasks.size == 1)
    assert(compared(table, greaterThan("k", 5000000000L)).tasks.isEmpty)
    assert(
      compared(table, equal("k", 7), _.useSnapshot(old)).tasks
        .map(_.file().partition().get(0, classOf[Integer]).toInt) == Seq(7))
    assert(compared(table, refine = _.useSnapshot(old)).tasks.size == 1)
  }

  test("renamed, dropped and re-added columns bind by field id") {
    val table = TestTable.create(schema)
    table.append(
      TestFiles.data(table, Map("k" -> Stats.range(1, 2))),
      TestFiles.data(table, Map("k" -> Stats.range(5, 6))))
    val old = table.current.snapshotId()
    table.load().updateSchema().renameColumn("k", "kk").commit()
    assert(same(table, equal("kk", 1)).tasks.size == 1)
    table.load().updateSchema().deleteColumn("kk").commit()
    table.load().updateSchema().addColumn("kk", Types.IntegerType.get()).commit()
    assert(compared(table, equal("kk", 1)).tasks.size == 2, "the new column has no bounds")
    table.append(TestFiles.data(table, Map("kk" -> Stats.range(7, 8))))
    assert(compared(table, equal("kk", 1)).tasks.size == 2)
    assert(compared(table, equal("k", 1), _.useSnapshot(old)).tasks.size == 1, "the old snapshot has the old column")
  }

  test("swapped names on a branch: a filter is bound by field id or left to Iceberg") {
    val table = TestTable.create(
      new Schema(
        required(1, "id", Types.LongType.get()),
        optional(2, "a", Types.IntegerType.get()),
        optional(3, "b", Types.IntegerType.get())))
    table.append(
      TestFiles.data(table, Map("a" -> Stats.range(1, 2), "b" -> Stats.range(11, 12))),
      TestFiles.data(table, Map("a" -> Stats.range(11, 12), "b" -> Stats.range(1, 2))))
    val old = table.current.snapshotId()
    table.load().manageSnapshots().createBranch("br", old).commit()
    table.load().updateSchema().renameColumn("a", "x").renameColumn("b", "a").commit()
    table.load().updateSchema().renameColumn("x", "b").commit()
    build(table)
    // a query reads a branch with the table's current schema, which Spark sets as the projection
    val onBranch: Refine = scan => scan.useRef("br").project(table.schema)
    val planned = ours(table, equal("a", 1), refine = onBranch)
    assert(planned.reason.isEmpty)
    val kept = planned.tasks.map(_.file())
    assert(kept.size == 1, "a now names field 3, whose bounds hold 1 in the second file")
    val secondFile = stock(table, refine = _.useSnapshot(old)).map(_.file().location()).max
    assert(kept.head.location() == secondFile)
  }

  test("column statistics asked for: Iceberg plans") {
    val table = partitioned()
    table.append(TestFiles.data(table, range(1), Seq(1)))
    build(table)
    val planned = ours(table, refine = _.includeColumnStats())
    assert(planned.reason.contains(StockReason.ColumnStatsRequested))
    assert(planned.tasks.head.file().lowerBounds() != null)
  }

  test("IN of 500 values prunes where Iceberg gives up") {
    val table = TestTable.create(schema)
    (0 until 20).foreach(k => table.append(TestFiles.data(table, range(k))))
    val far: java.lang.Iterable[AnyRef] = (0 until 500).map(i => Long.box(100L + 1000L * i): AnyRef).asJava
    assert(same(table, in[AnyRef]("id", far), fewerThanIceberg = true).tasks.size == 1)
  }

  test("a null partition value is not less than anything") {
    for (sameManifest <- Seq(true, false)) {
      val table = partitioned()
      val files = Seq(TestFiles.data(table, range(1), Seq(null)), TestFiles.data(table, range(2), Seq(3)))
      if (sameManifest) table.append(files: _*) else files.foreach(table.append(_))
      build(table)
      assert(ours(table, lessThan("k", 5)).tasks.map(_.file().location()) == Seq(files(1).location()))
      assert(ours(table, lessThanOrEqual("k", 5)).tasks.size == 1)
      assert(ours(table, or(lessThan("k", 5), isNull("k"))).tasks.size == 2)
      assert(ours(table, not(greaterThan("k", 5))).tasks.size == 1)
    }
  }

  test("scan metrics: files and manifests are counted as Iceberg counts them") {
    val table = partitioned()
    (0 until 3).foreach(k => table.append(TestFiles.data(table, range(k), Seq(k))))
    table.delete(TestFiles.equalityDeletes(table, Seq("id"), table.spec, TestFiles.tuple(table.spec, Seq(1))))
    build(table)
    val relation = Planning.relation(table)
    val reporter = new org.apache.iceberg.metrics.InMemoryMetricsReporter
    val current = table.current.snapshotId()
    val measured = new ZoneMapTable(table.operations, table.name, reporter, current, Off, process.now)
    scala.util.Using.resource(measured.newBatchScan().filter(equal("k", 1)).planFiles())(_.asScala.size)
    val metrics = reporter.scanReport().scanMetrics()
    assert(metrics.resultDataFiles().value() == 1)
    assert(metrics.skippedDataFiles().value() == 2)
    assert(metrics.totalDataManifests().value() == 3)
    assert(metrics.totalDeleteManifests().value() == 1)
    assert(metrics.resultDeleteFiles().value() == 1)
  }
}
