// SPDX-License-Identifier: Apache-2.0
package zonemap.server.plan

import java.nio.ByteBuffer
import java.util.UUID

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.iceberg.{DataFile, PartitionSpec, Schema}
import org.apache.iceberg.exceptions.{NoSuchPlanIdException, NoSuchPlanTaskException, ValidationException}
import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.JsonNode
import org.apache.iceberg.types.Types
import org.apache.iceberg.util.JsonUtil
import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.build.LocalRunner
import zonemap.iceberg.report.{PlanListener, PlanMode, PlanReport}
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.testing.{OwnProcess, Stats, TestFiles, TestTable}
import zonemap.server.http.{Caller, Limits, Refusal}

class ScanPlansTest extends AnyFunSuite with OwnProcess {
  private val schema = new Schema(Types.NestedField.required(1, "id", Types.LongType.get))
  private val settings = PlannerSettings()
  private var now = 1000L
  private val tokens = new PlanTokens("key".getBytes, 500, () => now)
  private val anna = new Caller(Some("Bearer anna"))
  private val bert = new Caller(Some("Bearer bert"))

  private def plans(limits: Limits = Limits()) = new ScanPlans(process.now, settings, tokens, limits)

  private def as(caller: Caller, table: TestTable, name: String = "db.t") =
    new PlannedTable(table.load(), name, caller)

  private def file(table: TestTable, place: Int): DataFile =
    TestFiles.data(table, Map("id" -> Stats.range(place * 10L, place * 10L + 9)), path = s"mem://lake/f$place.parquet")

  /** A table of files with ten ids each. */
  private def tableOf(files: Int, version: Int = 2): TestTable = {
    val table = TestTable.create(schema, formatVersion = version)
    (0 until files).grouped(7).foreach(part => table.append(part.map(file(table, _)): _*))
    table
  }

  private def indexed(table: TestTable): TestTable = {
    process.admin.build(table.load(), table.current, settings, new LocalRunner(_)): Unit
    table
  }

  private def read(answer: Array[Byte]): JsonNode = JsonUtil.mapper().readTree(answer)

  private def paths(answer: JsonNode): Seq[String] =
    answer.get("file-scan-tasks").asScala.map(_.get("data-file").get("file-path").asText()).toSeq

  private def request(text: String): Array[Byte] = text.getBytes("UTF-8")

  private def fetch(planTask: JsonNode): Array[Byte] =
    request(JsonUtil.mapper().createObjectNode().set("plan-task", planTask).toString)

  /** The modes of the plans that `work` makes. */
  private def modes(work: => Any): Seq[PlanMode] = {
    val found = mutable.ArrayBuffer.empty[PlanMode]
    process.index.planLog.listen(new PlanListener {
      override def planned(report: PlanReport): Unit = found += report.mode: Unit
    })
    work: Unit
    found.toSeq
  }

  test("a filter keeps the files that may match, from the index") {
    val table = indexed(tableOf(20))
    val seen = modes {
      val answer = read(plans().plan(as(anna, table), request("""{"filter":{"type":"eq","term":"id","value":57}}""")))
      assert(answer.get("status").asText() == "completed")
      assert(paths(answer) == Seq("mem://lake/f5.parquet"))
      assert(!answer.has("plan-tasks"))
    }
    assert(seen == Seq(PlanMode.Exact))
  }

  test("pages have each data file once, also if another planner makes the later ones") {
    val table = indexed(tableOf(60))
    val few = plans(Limits(pageTasks = 9))
    val answer = read(few.plan(as(anna, table), request("{}")))
    assert(paths(answer).isEmpty)
    val planTasks = answer.get("plan-tasks").asScala.toSeq
    assert(planTasks.size == 7)
    val seen = modes {
      val (before, after) = planTasks.splitAt(3)
      val first = before.flatMap(task => paths(read(few.tasks(as(anna, table), fetch(task)))))
      // a commit, and a process that does not know the table
      table.append(file(table, 60)): Unit
      process.restart()
      val anew = plans(Limits(pageTasks = 9))
      val second = after.flatMap(task => paths(read(anew.tasks(as(anna, table), fetch(task)))))
      assert((first ++ second).sorted == (0 until 60).map(place => s"mem://lake/f$place.parquet").sorted)
      assert(first.nonEmpty && second.nonEmpty)
    }
    assert(seen == Seq.fill(3)(PlanMode.Exact))
  }

  test("a plan has as many pages as allowed") {
    val table = tableOf(30)
    val answer = read(plans(Limits(pageTasks = 2, maxPages = 3)).plan(as(anna, table), request("{}")))
    assert(answer.get("plan-tasks").size == 3)
  }

  test("a long filter makes pages of fewer tasks, since each task repeats it") {
    val table = tableOf(30)
    val filter = (0 until 300).mkString("""{"filter":{"type":"in","term":"id","values":[""", ",", "]}}")
    def answer(limits: Limits) = read(plans(limits).plan(as(anna, table), request(filter)))
    assert(paths(answer(Limits())).size == 30)
    assert(answer(Limits(pageBytes = 10000)).get("plan-tasks").size == 5)
    val refused = intercept[Refusal](answer(Limits(pageBytes = 100, maxPages = 3)))
    assert(refused.status == 400)
  }

  test("tokens open for their caller, their table, and their kind only, until they expire") {
    val table = tableOf(10)
    val few = plans(Limits(pageTasks = 5))
    val answer = read(few.plan(as(anna, table), request("{}")))
    val (task, id) = (answer.get("plan-tasks").get(0), answer.get("plan-id").asText())
    def tasks(of: PlannedTable, body: Array[Byte]) = few.tasks(of, body)
    assert(paths(read(tasks(as(anna, table), fetch(task)))).nonEmpty)
    assert(read(few.result(as(anna, table), id)).get("plan-tasks").size == 2)
    few.cancel(as(anna, table), id)
    val forged = JsonUtil.mapper().createObjectNode().textNode(task.asText().reverse)
    val ofId = JsonUtil.mapper().createObjectNode().textNode(id)
    for (other <- Seq(
        as(bert, table) -> task,
        as(new Caller(None), table) -> task,
        as(anna, table, "db.u") -> task,
        as(anna, tableOf(1)) -> task,
        as(anna, table) -> forged,
        as(anna, table) -> ofId
      ))
      assertThrows[NoSuchPlanTaskException](tasks(other._1, fetch(other._2)))
    assertThrows[NoSuchPlanIdException](few.result(as(bert, table), id))
    assertThrows[NoSuchPlanIdException](few.cancel(as(anna, table), task.asText()))
    now += 500
    try assertThrows[NoSuchPlanTaskException](tasks(as(anna, table), fetch(task)))
    finally now -= 500
  }

  test("deletion vectors that share a Puffin file stay with their data files") {
    val table = TestTable.create(schema, formatVersion = 3)
    val files = (0 until 3).map(file(table, _))
    table.append(files: _*): Unit
    table.delete(files.zipWithIndex.map { case (of, place) =>
      TestFiles.vector(table, of, "mem://lake/shared.puffin", 4L + 40 * place)
    }: _*): Unit
    val answer = read(plans().plan(as(anna, indexed(table)), request("{}")))
    val vectors = answer.get("delete-files")
    assert(vectors.size == 3)
    for (task <- answer.get("file-scan-tasks").asScala) {
      val references = task.get("delete-file-references")
      assert(references.size == 1)
      val vector = vectors.get(references.get(0).asInt())
      assert(vector.get("referenced-data-file") == task.get("data-file").get("file-path"))
    }
  }

  test("an incremental scan has the files after its start, and asked statistics come from Iceberg") {
    val table = tableOf(14)
    val ids = table.load().snapshots().asScala.map(_.snapshotId()).toSeq
    val body = s"""{"start-snapshot-id":${ids.head},"end-snapshot-id":${ids.last}}"""
    val answer = read(plans().plan(as(anna, table), request(body)))
    assert(paths(answer).sorted == (7 until 14).map(place => s"mem://lake/f$place.parquet").sorted)
    val stats = read(plans().plan(as(anna, indexed(table)), request("""{"stats-fields":["id"]}""")))
    val tasks = stats.get("file-scan-tasks").asScala.toSeq
    assert(tasks.nonEmpty && tasks.forall(_.get("data-file").has("lower-bounds")))
  }

  test("a client that needs some rows gets the files that certainly have them, and all files where none does") {
    val parts = new Schema(
      Types.NestedField.required(1, "id", Types.LongType.get),
      Types.NestedField.required(2, "day", Types.IntegerType.get))
    val table = TestTable.create(parts, PartitionSpec.builderFor(_).identity("day").build())
    val files = (0 until 12).map { place =>
      val stats = Map("id" -> Stats.range(place * 10L, place * 10L + 9))
      TestFiles.data(table, stats, partition = Seq(place % 2), path = s"mem://lake/f$place.parquet")
    }
    table.append(files: _*): Unit
    val each = files.head.recordCount()
    def count(rows: Long, filter: String = "", on: TestTable = table): Int =
      paths(read(plans().plan(as(anna, on), request(s"""{$filter"min-rows-requested":$rows}""")))).size
    for (indexing <- Seq(false, true)) {
      if (indexing) indexed(table): Unit
      assert(count(1) == 1 && count(each) == 1 && count(each + 1) == 2 && count(each * 100) == 12)
      assert(count(0) == 12 && intercept[Refusal](count(-1)).status == 400)
      assert(count(1, """"filter":{"type":"eq","term":"day","value":1},""") == 1)
      // any row of these files can differ from the filter
      assert(count(1, """"filter":{"type":"gt","term":"id","value":-1},""") == 12)
    }
    val pages = plans(Limits(pageTasks = 3)).plan(as(anna, table), request(s"""{"min-rows-requested":${each * 5}}"""))
    assert(read(pages).get("plan-tasks").size == 4)
    table.delete(files.map(TestFiles.positionDeletesOf(table, _, byBounds = false)): _*): Unit
    assert(count(1) == 12 && count(1, on = indexed(table)) == 12)
  }

  test("names that were swapped are those of the table, unless the request asks for the snapshot's") {
    val two = new Schema(
      Types.NestedField.required(1, "a", Types.LongType.get),
      Types.NestedField.required(2, "b", Types.LongType.get))
    val table = TestTable.create(two)
    val old = table.append((0 until 4).map { place =>
      val stats = Map("a" -> Stats.range(place * 10L, place * 10L + 9), "b" -> Stats.range(1000L, 1009L))
      TestFiles.data(table, stats, path = s"mem://lake/f$place.parquet")
    }: _*)
    for ((before, after) <- Seq("a" -> "c", "b" -> "a", "c" -> "b"))
      table.load().updateSchema().renameColumn(before, after).commit()
    def kept(more: String) =
      paths(read(plans().plan(as(anna, indexed(table)), request(s"""{"snapshot-id":${old.snapshotId()},$more}"""))))
    val filter = """"filter":{"type":"lt","term":"b","value":10}"""
    assert(kept(filter) == Seq("mem://lake/f0.parquet"))
    assert(kept(s"$filter,\"use-snapshot-schema\":true").isEmpty)
  }

  test("what is left of a filter for a partition is about the columns that the filter names") {
    val two = new Schema(
      Types.NestedField.required(1, "a", Types.LongType.get),
      Types.NestedField.required(2, "b", Types.LongType.get))
    val table = TestTable.create(two, PartitionSpec.builderFor(_).truncate("a", 10, "part").build())
    val old = table.append((0 until 4).map { place =>
      val stats = Map("a" -> Stats.range(place * 10L, place * 10L + 9), "b" -> Stats.range(1000L, 1009L))
      TestFiles.data(table, stats, partition = Seq(place * 10L), path = s"mem://lake/f$place.parquet")
    }: _*)
    def residuals(column: String, value: Int): Seq[String] = {
      val filter = s""""filter":{"type":"eq","term":"$column","value":$value},"use-snapshot-schema":true"""
      val body = request(s"""{"snapshot-id":${old.snapshotId()},$filter}""")
      read(plans().plan(as(anna, indexed(table)), body))
        .get("file-scan-tasks")
        .asScala
        .toSeq
        .map(_.get("residual-filter").toString)
    }
    for ((before, after) <- Seq("a" -> "c", "b" -> "a", "c" -> "b"))
      table.load().updateSchema().renameColumn(before, after).commit()
    assert(residuals("b", 1005) == Seq.fill(4)("""{"type":"eq","term":"b","value":1005}"""))
    table.load().updateSchema().renameColumn("a", "e").commit()
    assert(residuals("a", 5) == Seq("""{"type":"eq","term":"a","value":5}"""))
  }

  test("what is left of a filter where Iceberg miscounts a prefix, and where it fails for a null, is the filter") {
    val texts = new Schema(
      Types.NestedField.optional(1, "s", Types.StringType.get),
      Types.NestedField.required(2, "id", Types.LongType.get))
    def residual(
        partitioned: PartitionSpec.Builder => PartitionSpec.Builder,
        partition: Any,
        filter: String): String = {
      val table = TestTable.create(texts, schema => partitioned(PartitionSpec.builderFor(schema)).build())
      val stats = Map("id" -> Stats.range(1L, 9L))
      table.append(TestFiles.data(table, stats, partition = Seq(partition), path = "mem://lake/f0.parquet")): Unit
      val answer = read(plans().plan(as(anna, indexed(table)), request(s"""{"filter":$filter}""")))
      val Seq(task) = answer.get("file-scan-tasks").asScala.toSeq: @unchecked
      task.get("residual-filter").toString
    }
    val prefix = """{"type":"starts-with","term":"s","value":"\uD83D\uDE00"}"""
    assert(
      JsonUtil.mapper().readTree(residual(_.truncate("s", 2), "\uD83D\uDE00a", prefix)) ==
        JsonUtil.mapper().readTree(prefix))
    val in = """{"type":"in","term":"s","values":["a","b"]}"""
    val either = s"""{"type":"or","left":$in,"right":{"type":"lt","term":"id","value":5}}"""
    assert(JsonUtil.mapper().readTree(residual(_.identity("s"), null, either)) == JsonUtil.mapper().readTree(either))
  }

  test("a list of values is shortened to those that a file may hold") {
    val table = tableOf(4)
    table.append(TestFiles.data(table, Map.empty, path = "mem://lake/unknown.parquet")): Unit
    indexed(table): Unit
    def residuals(filter: String): Map[String, JsonNode] =
      read(plans().plan(as(anna, table), request(s"""{"filter":$filter}""")))
        .get("file-scan-tasks")
        .asScala
        .map(task => task.get("data-file").get("file-path").asText() -> task.get("residual-filter"))
        .toMap
    def in(values: Int*): String = s"""{"type":"in","term":"id","values":[${values.sorted.mkString(",")}]}"""
    def sorted(filter: JsonNode): String = in(filter.get("values").asScala.map(_.asInt()).toSeq: _*)
    val found = residuals(in(5, 12, 13, 31, 99)).view.mapValues(sorted).toMap
    assert(
      found == Map(
        "mem://lake/f0.parquet" -> in(5),
        "mem://lake/f1.parquet" -> in(12, 13),
        "mem://lake/f3.parquet" -> in(31),
        "mem://lake/unknown.parquet" -> in(5, 12, 13, 31, 99)
      ))
    val either = s"""{"type":"or","left":${in(5, 99)},"right":{"type":"lt","term":"id","value":25}}"""
    val parts = residuals(either)
    assert(sorted(parts("mem://lake/f0.parquet").get("left")) == in(5))
    assert(sorted(parts("mem://lake/f2.parquet").get("left")) == in(5, 99))
    val negated = residuals(s"""{"type":"not","child":{"type":"and","left":${in(5, 99)},"right":${in(5, 98)}}}""")
    assert(negated("mem://lake/f0.parquet").toString.contains("99"))
  }

  test("a list of values beyond those of the type, and of uuids, of which bounds have two orders") {
    val uuids = Seq("00000000-0000-0001-8000-000000000000", "00000000-0000-0001-7000-000000000000")
    val last = "00000000-0000-0002-0000-000000000000"
    val two = new Schema(
      Types.NestedField.required(1, "i", Types.IntegerType.get),
      Types.NestedField.required(2, "u", Types.UUIDType.get))
    val table = TestTable.create(two)
    val stats = Map("i" -> Stats.range(1, 9), "u" -> Stats.range(UUID.fromString(uuids.head), UUID.fromString(last)))
    table.append(TestFiles.data(table, stats, path = "mem://lake/f0.parquet")): Unit
    indexed(table): Unit
    def residual(filter: String): String = {
      val answer = read(plans().plan(as(anna, table), request(s"""{"filter":$filter}""")))
      answer.get("file-scan-tasks").get(0).get("residual-filter").toString
    }
    val numbers = residual("""{"type":"in","term":"i","values":[5,12,3000000000]}""")
    assert(numbers.contains("5") && !numbers.contains("12"))
    val listed = residual(s"""{"type":"in","term":"u","values":["${uuids(1)}","$last"]}""")
    assert(listed.contains(uuids(1)) && listed.contains(last))
  }

  test("a file is kept if the reader of some client may find a row in it") {
    val doubles = new Schema(Types.NestedField.required(1, "d", Types.DoubleType.get))
    val table = TestTable.create(doubles)
    def made(name: String, stats: Stats) = TestFiles.data(table, Map("d" -> stats), path = s"mem://lake/$name")
    table.append(
      made("zero", Stats.range(-0.0, -0.0).copy(nans = Some(0))),
      made("nan", Stats.range(6.0, 9.0).copy(nans = Some(1))),
      made("plain", Stats.range(6.0, 9.0).copy(nans = Some(0)))
    ): Unit
    indexed(table): Unit
    def kept(filter: String) = paths(read(plans().plan(as(anna, table), request(s"""{"filter":$filter}"""))))
    val cases = Seq(
      """{"type":"not-in","term":"d","values":[0.0,5.0]}""" -> Set("zero", "nan", "plain"),
      """{"type":"lt","term":"d","value":0.0}""" -> Set("zero", "nan", "plain"),
      """{"type":"not","child":{"type":"gt","term":"d","value":5.0}}""" -> Set("zero", "nan"),
      """{"type":"gt","term":"d","value":5.5}""" -> Set("nan", "plain"),
      """{"type":"eq","term":"d","value":5.5}""" -> Set.empty[String]
    )
    for ((filter, files) <- cases) assert(kept(filter).map(_.stripPrefix("mem://lake/")).toSet == files, filter)
    val task =
      read(plans().plan(as(anna, table), request(s"""{"filter":${cases(1)._1}}"""))).get("file-scan-tasks").get(0)
    assert(task.get("residual-filter").toString == cases(1)._1)
  }

  test("literals of binary columns are hexadecimal texts, as in the protocol") {
    val binary = new Schema(Types.NestedField.required(1, "b", Types.BinaryType.get))
    val table = TestTable.create(binary)
    val bounds = Stats.range(ByteBuffer.wrap(Array[Byte](1, 2)), ByteBuffer.wrap(Array[Byte](1, 9)))
    table.append(TestFiles.data(table, Map("b" -> bounds))): Unit
    def kept(value: String) =
      paths(read(plans().plan(as(anna, table), request(s"""{"filter":{"type":"eq","term":"b","value":"$value"}}"""))))
    assert(kept("0105").size == 1 && kept("02").isEmpty)
    val first = """{"type":"eq","term":{"type":"transform","transform":"truncate[1]","term":"b"},"value":"01"}"""
    assert(paths(read(plans().plan(as(anna, table), request(s"""{"filter":$first}""")))).size == 1)
    assert(intercept[Refusal](kept("xyz")).status == 400)
  }

  test("an empty table, an unknown snapshot and an unknown column") {
    val empty = TestTable.create(schema)
    assert(paths(read(plans().plan(as(anna, empty), request("{}")))).isEmpty)
    assert(!plans().covers(empty.load()))
    val table = tableOf(1)
    for (id <- Seq(1, -1))
      assert(intercept[Refusal](plans().plan(as(anna, table), request(s"""{"snapshot-id":$id}"""))).status == 400)
    assertThrows[ValidationException](
      plans().plan(as(anna, table), request("""{"filter":{"type":"is-null","term":"other"}}""")))
  }

  test("a table counts as covered if it has an index, and asking indexes nothing") {
    val table = tableOf(3)
    assert(!plans().covers(table.load()))
    assert(process.now.await(5000) && !plans().covers(table.load()))
    assert(plans().covers(indexed(table).load()))
  }

  test("malformed requests, deep filters and long filters are refused") {
    val table = as(anna, tableOf(1))
    val deep = """{"type":"not","child":""" * 300 + "true" + "}" * 300
    val long = s"""{"type":"in","term":"id","values":[${(0 until 200).mkString(",")}]}"""
    val limits = Limits(filterLiterals = 50)
    for (body <- Seq("", "[]", "{", "null", "{\"filter\":7}", s"""{"filter":$deep}""", s"""{"filter":$long}"""))
      assert(intercept[Refusal](plans(limits).plan(table, request(body))).status == 400, body.take(40))
    for (body <- Seq("", "{}", "{\"plan-task\":1}"))
      assert(intercept[Refusal](plans().tasks(table, request(body))).status == 400, body)
  }

  test("a plan that takes too long, and one without a place, are refused") {
    val table = as(anna, tableOf(3))
    assert(intercept[Refusal](plans(Limits(requestMillis = -1)).plan(table, request("{}"))).status == 503)
    assert(intercept[Refusal](plans(Limits(plans = 0, planWaitMillis = 1)).plan(table, request("{}"))).status == 503)
  }
}
