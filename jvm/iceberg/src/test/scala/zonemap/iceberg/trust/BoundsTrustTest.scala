// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.trust

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.iceberg.{DataFile, EnvironmentContext, PartitionSpec, Schema, TableProperties}
import org.apache.iceberg.expressions.{Expression, Expressions}
import org.apache.iceberg.types.Types
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.predicate.{ColumnRef, Compare, CompareOp, InRanges, IsNull, True, ValueRanges}
import zonemap.core.rule.Match
import zonemap.core.value.{StringType, ZoneValue, ZoneValues}
import zonemap.iceberg.answer.{AggregateQuestion, FileAggregate, TopK}
import zonemap.iceberg.build.LocalRunner
import zonemap.iceberg.plan.{FewColumns, IndexQuestions, Planning, ZoneMapBatchScan}
import zonemap.iceberg.prune.LimitCut
import zonemap.iceberg.testing.{Stats, TestFiles, TestTable}

/**
 * Checks for which conclusions bounds are used, by the writer of the file and by the source from which readers take
 * the column.
 */
class BoundsTrustTest extends AnyFunSuite with FewColumns {
  import Planning._

  private val mapping = """[{"field-id": 1, "names": ["id"]}]"""

  private def ids(lower: Long, upper: Long): Map[String, Stats] = Map("id" -> Stats.range(lower, upper))
  private def long(v: Long): ZoneValue = ZoneValues.ofLong(v)
  private def file(t: TestTable, lower: Long, upper: Long): DataFile = TestFiles.data(t, ids(lower, upper))
  private def isMapped(t: TestTable): Unit =
    t.load().updateProperties().set(TableProperties.DEFAULT_NAME_MAPPING, mapping).commit()
  private def isMappedNoMore(t: TestTable): Unit =
    t.load().updateProperties().remove(TableProperties.DEFAULT_NAME_MAPPING).commit()

  /** The number of files that a condition retains which Iceberg never evaluates. */
  private def keptByDerived(t: TestTable): Int = {
    val derived = InRanges(id, ValueRanges.closed(long(1000), long(2000)))
    val found = relation(t, Covering).withFunctions(derived, "digest")
    plan(found, Expressions.alwaysTrue(), identity).size
  }

  private def keptByFilter(t: TestTable, filter: Expression = Expressions.greaterThan("id", 1000L)): Int =
    ours(t, filter, Covering).tasks.size

  private def answered(t: TestTable): Boolean = filesAnswered(t) > 0

  private def filesAnswered(t: TestTable, aggregate: FileAggregate = FileAggregate.Greatest(id)): Int = {
    val r = relation(t, Covering)
    val scan = r.newBatchScan().asInstanceOf[ZoneMapBatchScan]
    val tasks = Using.resource(scan.planFiles())(_.asScala.map(_.asFileScanTask()).toIndexedSeq)
    IndexQuestions
      .aggregates(r.pinned, scan.planned().get.files, tasks, AggregateQuestion(True, Nil, Seq(aggregate)))
      .fold(_ => 0, _.answered.cardinality)
  }

  private def hasTopK(t: TestTable): Boolean =
    IndexQuestions
      .topK(relation(t, Covering).pinned, TopK(id, descending = true, nullsFirst = false, True, 3))
      .isDefined

  private def cutsLimit(t: TestTable): Boolean =
    IndexQuestions.isWorthwhile(relation(t, Covering).pinned, LimitCut(5, Compare(id, CompareOp.GtEq, long(0))))

  private def tellsJoins(t: TestTable): Boolean = relation(t, Covering).pinned.liveFiles.get.valuesOf(id, 8).isDefined

  private def everything(t: TestTable): (Int, Int, Boolean, Boolean, Boolean, Boolean) =
    (keptByFilter(t), keptByDerived(t), hasTopK(t), cutsLimit(t), tellsJoins(t), answered(t))

  private def table(append: (TestTable, DataFile) => Any): TestTable = {
    val t = TestTable.create(schema)
    (0 until 4).foreach(i => append(t, file(t, i * 10L, i * 10L + 9)))
    t
  }

  // files retained by Iceberg's own filter and by a derived condition; then the bound of first rows, the cut of a
  // LIMIT, the values for joins, and MIN/MAX
  test("an engine's files: extremes") {
    assert(everything(table(_.append(_))) == ((0, 0, true, true, true, true)))
  }

  test("an unknown writer's files: Iceberg's own filter alone") {
    val t = table(_.appendOfUnknownWriter(_))
    assert(everything(t) == ((0, 4, false, false, false, false)))
    assert(filesAnswered(t, FileAggregate.CountRows) == 0, "its record counts are not counts either")
    assert(!IndexQuestions.isWorthwhile(relation(t, Covering).pinned, LimitCut(5, True)))
    assert(keptByFilter(t, Expressions.notEqual("id", 5L)) == 4)
    assert(keptByFilter(t, Expressions.in("id", (1000L until 1201L).map(Long.box): _*)) == 4, "Iceberg stops at 200")
    assert(keptByFilter(t, Expressions.in("id", (1000L until 1200L).map(Long.box): _*)) == 0)
  }

  test("files that a committer of append ingestion added: valid bounds, no extremes") {
    def append(t: TestTable, file: DataFile) =
      t.load().newAppend().appendFile(file).set("zonemap.ingest.pointer", "v1|1|a|b|c").commit()
    assert(everything(table(append _)) == ((0, 0, true, true, true, false)))
    val mapped = table(append _)
    isMapped(mapped)
    assert(everything(mapped) == ((0, 4, false, false, false, false)), "they may lack field ids")
  }

  test("an engine's files in a table with a name mapping have field ids") {
    val t = table(_.append(_))
    isMapped(t)
    assert(everything(t) == ((0, 0, true, true, true, true)))
    t.appendOfUnknownWriter(file(t, 5, 6))
    assert(keptByDerived(t) == 1)
    assert(!tellsJoins(t))
    assert(hasTopK(t), "the engine's files hold rows enough")
  }

  test("what was indexed under a name mapping stays doubtful without it, and when the snapshot is expired") {
    val t = TestTable.create(schema)
    isMapped(t)
    t.append(file(t, 0, 9))
    t.appendOfUnknownWriter(file(t, 10, 19))
    build(t)
    isMappedNoMore(t)
    t.load().expireSnapshots().expireOlderThan(Long.MaxValue).retainLast(1).commit()
    val settings = Planning.Off
    val loaded = t.load()
    process.admin.merge(loaded, loaded.currentSnapshot(), settings, new LocalRunner(_))
    assert(keptByDerived(t) == 1)
    assert(!tellsJoins(t))
  }

  test(
    "files that an engine appended without its writer are imports, also where the mapping has been removed before they are indexed") {
    val t = TestTable.create(schema)
    (0 until 4).foreach { i =>
      t.load().newAppend().appendFile(file(t, i * 10L, i * 10L + 9)).set("engine-name", "spark").commit()
    }
    assert(everything(t) == ((0, 4, false, false, false, false)))
  }

  test("texts whose bounds are not their bytes: Iceberg's own filter alone") {
    val schema = new Schema(
      Types.NestedField.required(1, "id", Types.LongType.get()),
      Types.NestedField.optional(2, "s", Types.StringType.get()))
    val column = ColumnRef(2, StringType, "s")
    def kept(lower: String, upper: String, value: ZoneValue): Int = {
      val t = TestTable.create(schema)
      t.append(TestFiles.data(t, Map("s" -> Stats.range(lower, upper))))
      val derived = InRanges(column, ValueRanges.closed(value, value))
      plan(relation(t, Covering).withFunctions(derived, "digest"), Expressions.alwaysTrue(), identity).size
    }
    val (word, byte) = (ZoneValues.ofString("a"), ZoneValues.ofBytes(Array(0xff.toByte)))
    assert(kept("k", "m", word) == 0 && kept("k", "m", byte) == 0)
    assert(kept("\ufffd", "\ufffd", word) == 1 && kept("\ufffd", "\ufffd", byte) == 1)
    assert(kept("k\ufffd", "z", word) == 1 && kept("k", "z\ufffd", word) == 1)
    assert(kept("k", "z\ufffe", byte) == 1, "a writer has cut and incremented it")
    assert(kept("k\ufffez", "z", word) == 0 && kept("k", "z\uffef", word) == 0)
  }

  test("the writer is forgotten by a build when its snapshot is expired, and kept by a refresh") {
    val t = table(_.append(_))
    build(t)
    t.load().expireSnapshots().expireOlderThan(Long.MaxValue).retainLast(1).commit()
    val loaded = t.load()
    process.admin.refresh(loaded, loaded.currentSnapshot(), Off, new LocalRunner(_))
    assert(filesAnswered(t) == 4)
    build(t)
    assert(filesAnswered(t) == 1, "three of four snapshots are expired")
    assert(keptByDerived(t) == 3)
  }

  test("files rewritten by an engine are its files") {
    val t = TestTable.create(schema)
    val old = file(t, 0, 9)
    t.appendOfUnknownWriter(old)
    assert(!answered(t))
    t.load().newRewrite().deleteFile(old).addFile(file(t, 0, 9)).set("engine-name", "spark").commit()
    assert(answered(t))
  }

  test("a file whose bounds miss the tuple's value is never proven to match as a whole") {
    def cutsLimit(beside: Long): Boolean = {
      val t = TestTable.create(schema, s => PartitionSpec.builderFor(s).identity("id").build())
      (20L until 24L).foreach(i => t.append(TestFiles.data(t, ids(i, i), Seq(Long.box(i - beside)))))
      IndexQuestions.isWorthwhile(relation(t, Covering).pinned, LimitCut(5, Compare(id, CompareOp.GtEq, long(15))))
    }
    assert(cutsLimit(0) && !cutsLimit(10))
  }

  test("bounds of a partition column that miss the tuple's value are Iceberg's own filter's alone") {
    val t = TestTable.create(schema, s => PartitionSpec.builderFor(s).identity("id").build())
    (0L until 4L).foreach(i => t.append(TestFiles.data(t, ids(i + 10, i + 10), Seq(Long.box(i)))))
    assert(keptByFilter(t, Expressions.equal("id", 11L)) == 0, "by the tuple")
    assert(keptByFilter(t, Expressions.equal("id", 1L)) == 0, "by the bounds, as Iceberg does")
    assert(planStock(t, Expressions.equal("id", 1L)) == 0)
    val one = InRanges(id, ValueRanges.closed(long(1), long(1)))
    val found = relation(t, Covering).withFunctions(one, "digest")
    assert(plan(found, Expressions.alwaysTrue(), identity).size == 1, "the tuple alone decides")
    assert(!hasTopK(t) && !tellsJoins(t))
  }

  test("a partition of null, whose files' counts deny nulls: the tuple alone decides") {
    val t = TestTable.create(schema, s => PartitionSpec.builderFor(s).identity("id").build())
    t.append(TestFiles.data(t, ids(10, 19), Seq(null)))
    val found = relation(t, Covering).withFunctions(IsNull(id), "digest")
    assert(plan(found, Expressions.alwaysTrue(), identity).size == 1)
  }

  test("doubtful files prove no part of a condition, and their counts answer nothing") {
    val (doubtful, engines) = (table(_.appendOfUnknownWriter(_)), table(_.append(_)))
    isMapped(doubtful)
    def proofs(t: TestTable): (Match, Int) = {
      val pinned = relation(t, Covering).pinned
      val segment = pinned.covered.get.index.segments.head.segment
      val above = pinned.trust.rowMatch(segment, Compare(id, CompareOp.Gt, long(1000)))
      (above(0), filesAnswered(t, FileAggregate.CountValues(id)))
    }
    assert(proofs(doubtful) == ((Match.Some, 0)))
    assert(proofs(engines) == ((Match.None, 4)))
  }

  test("a doubtful file of one value: Iceberg compares inequalities with bounds only if no value is null") {
    val (doubtful, engines) = (TestTable.create(schema), TestTable.create(schema))
    def ofNulls(t: TestTable, nulls: Option[Long]): DataFile =
      TestFiles.data(t, Map("id" -> Stats(Some(10), nulls, None, Some(5L), Some(5L))))
    Seq(Some(0L), None, Some(3L)).foreach { nulls =>
      doubtful.appendOfUnknownWriter(ofNulls(doubtful, nulls))
      engines.append(ofNulls(engines, nulls))
    }
    val others = Expressions.and(Expressions.notNull("id"), Expressions.notEqual("id", 5L))
    val none = Expressions.and(Expressions.notNull("id"), Expressions.notIn("id", 5L, 6L))
    for (filter <- Seq(others, none)) {
      assert(keptByFilter(engines, filter) == 0)
      assert(keptByFilter(doubtful, filter) == 2 && planStock(doubtful, filter) == 2)
      val either = Expressions.or(filter, Expressions.equal("id", 77L))
      assert(keptByFilter(doubtful, either) == 2 && planStock(doubtful, either) == 2)
    }
    val nulls = TestTable.create(schema)
    nulls.appendOfUnknownWriter(TestFiles.data(nulls, Map("id" -> Stats(Some(10), Some(10), None, None, None))))
    val long = Expressions.in("id", (1000L until 1300L).map(Long.box): _*)
    Seq(others, none, long).foreach(f => assert(keptByFilter(nulls, f) == 0 && planStock(nulls, f) == 0))
  }

  test("a doubtful file beside an engine's: its bounds do not bound first rows") {
    val t = TestTable.create(schema)
    isMapped(t)
    t.append(file(t, 0, 9))
    t.append(file(t, 10, 19))
    t.appendOfUnknownWriter(file(t, 50, 59))
    val topK = TopK(id, descending = true, nullsFirst = false, True, 3)
    val found = IndexQuestions.topK(relation(t, Covering).pinned, topK)
    assert(found.map(bound => (bound.value, bound.kept)).contains((long(10), 2)))
  }

  test("files of a spec that is not known are doubtful") {
    val pinned = relation(table(_.append(_)), Covering).pinned
    val segment = pinned.covered.get.index.segments.head.segment
    assert(pinned.trust.isValid(segment, id.fieldId)(0))
    assert(!pinned.trustOf(_ => None).isValid(segment, id.fieldId)(0))
  }

  test("files rewritten by another program are not an engine's") {
    val t = TestTable.create(schema)
    val old = file(t, 0, 9)
    t.appendOfUnknownWriter(old)
    t.load().newRewrite().deleteFile(old).addFile(file(t, 0, 9)).set("engine-name", "trino").commit()
    assert(!answered(t))
  }

  test("a cherry-picked append is not an engine's") {
    val t = table(_.append(_))
    t.load().newAppend().appendFile(file(t, 50, 59)).stageOnly().set("spark.app.id", "tests").commit()
    val staged = t.load().snapshots().asScala.maxBy(_.sequenceNumber()).snapshotId()
    t.append(file(t, 40, 49))
    EnvironmentContext.put(EnvironmentContext.ENGINE_NAME, "spark")
    try t.load().manageSnapshots().cherrypick(staged).commit()
    finally EnvironmentContext.remove(EnvironmentContext.ENGINE_NAME): Unit
    assert(keptByDerived(t) == 1 && filesAnswered(t) == 5, "six files, one of them picked")
  }

  test("format version 1 numbers no snapshot: the snapshot that added the manifest tells the writer of its files") {
    val t = TestTable.create(schema, formatVersion = 1)
    t.append(file(t, 0, 9))
    t.appendOfUnknownWriter(file(t, 10, 19))
    assert(filesAnswered(t) == 1 && keptByDerived(t) == 1)
    t.load().rewriteManifests().clusterBy(_ => "one").set("engine-name", "spark").commit()
    assert(!answered(t) && keptByDerived(t) == 2, "the manifest keeps files of earlier snapshots")
  }

  private def planStock(t: TestTable, filter: Expression): Int = stock(t, filter).size
}
