// SPDX-License-Identifier: Apache-2.0
package zonemap.server.plan

import java.util.concurrent.{Semaphore, ThreadLocalRandom, TimeUnit}

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal
import scala.util.hashing.MurmurHash3

import org.apache.iceberg.{BaseTable, FileScanTask, Scan, Schema, TableScan}
import org.apache.iceberg.exceptions.{NoSuchPlanIdException, NoSuchPlanTaskException}
import org.apache.iceberg.expressions.{Expression, ExpressionParser}
import org.apache.iceberg.expressions.Expression.Operation
import org.apache.iceberg.io.CloseableIterable
import org.apache.iceberg.rest.requests.{FetchScanTasksRequestParser, PlanTableScanRequest, PlanTableScanRequestParser}
import org.apache.iceberg.util.{JsonUtil, SnapshotUtil}

import zonemap.iceberg.plan.{PinnedRelation, ZoneMapTable, ZoneMapTableScan}
import zonemap.iceberg.prune.FileSet
import zonemap.iceberg.settings.{PlannerSettings, UpkeepMode}
import zonemap.iceberg.upkeep.UpkeepProcess
import zonemap.server.http.{Caller, Limits, Refusal}

/** A table that a caller may load, with the name by which the caller asked for it. */
private[server] final class PlannedTable(val table: BaseTable, name: String, caller: Caller) {

  /** The caller and the table, to which tokens are bound. */
  def scope: Seq[String] = Seq(caller.digest, name, String.valueOf(table.uuid()))
}

/**
 * Plans scans as the protocol asks for them: from the index, else by Iceberg, in the same answer.
 *
 * A plan of many files is divided by a hash of the location of each data file, and each page plans again and returns
 * its own part. A data file is therefore in exactly one page, whatever order the index, another version of the index
 * or Iceberg plans files in. Nothing is held between two requests. Thread-safe.
 */
private[server] final class ScanPlans(
    process: UpkeepProcess,
    settings: PlannerSettings,
    tokens: PlanTokens,
    limits: Limits)
    extends AutoCloseable {
  import ScanPlans._

  private val places = new Semaphore(limits.plans, true)

  /** Whether the index can plan the newest snapshot, without any work on a table that has no index. */
  def covers(table: BaseTable): Boolean = {
    val known = settings.copy(upkeep = UpkeepMode.Off)
    Option(table.currentSnapshot()).exists { snapshot =>
      new PinnedRelation(table, Long.box(snapshot.snapshotId()), known, process).resolve(snapshot).isRight
    }
  }

  /** The answer to POST plan. */
  def plan(table: PlannedTable, body: Array[Byte]): Array[Byte] = {
    val request = parsed(body)
    val base = table.table
    val schemaId = base.schema().schemaId()
    // an incremental scan names its own snapshots
    val snapshotId =
      if (isIncremental(request)) NoSnapshot
      else if (request.snapshotId() != null) existing(base, request.snapshotId().longValue)
      else Option(base.currentSnapshot()).fold(NoSnapshot)(_.snapshotId())
    val state = PlanState(PlanTableScanRequestParser.toJson(request), snapshotId, schemaId, 0, 0, 0)
    whole(table, request, state)
  }

  /** The answer to GET plan/{id}: the plan again, at the same snapshot. */
  def result(table: PlannedTable, planId: String): Array[Byte] = {
    val state = opened(table, planId)
    whole(table, PlanTableScanRequestParser.fromJson(state.request), state)
  }

  /** Checks the id of a plan that the caller gives up: nothing of it is held. */
  def cancel(table: PlannedTable, planId: String): Unit = opened(table, planId): Unit

  /** The answer to POST tasks. */
  def tasks(table: PlannedTable, body: Array[Byte]): Array[Byte] = {
    val token = readable(FetchScanTasksRequestParser.fromJson(JsonUtil.mapper().readTree(body))).planTask()
    val state = tokens
      .open(token, table.scope)
      .filter(_.pages > 0)
      .getOrElse(throw new NoSuchPlanTaskException("Cannot find the plan-task: it is invalid or has expired."))
    val question = new Question(table.table, PlanTableScanRequestParser.fromJson(state.request), state)
    withPlace { deadline =>
      val ours = mutable.ArrayBuffer.empty[FileScanTask]
      within(question, deadline)(_.foreach(task => if (pageOf(task, state) == state.page) ours += task: Unit)): Unit
      TasksJson.bytes(ours.toSeq, question.forms, Nil, None, isPlan = false)
    }
  }

  /** Ends the background work on the index. */
  override def close(): Unit = process.close()

  private def whole(table: PlannedTable, request: PlanTableScanRequest, state: PlanState): Array[Byte] = {
    val question = new Question(table.table, request, state)
    withPlace { deadline =>
      val first = mutable.ArrayBuffer.empty[FileScanTask]
      // a task may repeat the whole filter
      val taskBytes = TaskBytes + Option(request.filter()).fold(0)(ExpressionParser.toJson(_).length)
      val pageTasks = math.max(1L, math.min(limits.pageTasks.toLong, limits.pageBytes / taskBytes))
      var count = 0L
      val forms = question.forms
      val planned = within(question, deadline) { tasks =>
        val enough = new EnoughRows(request, forms)
        while (tasks.hasNext && !(count <= pageTasks && enough.isReached)) {
          val task = tasks.next()
          count += 1
          enough.add(task)
          if (count <= pageTasks) first += task else first.clear()
        }
      }
      if (count / limits.maxPages * taskBytes > MaxPageRatio * limits.pageBytes)
        throw Refusal.badRequest(
          s"Cannot plan with this filter: $count files would repeat it. Divide the query, or plan it in the client.")
      val pages =
        if (count <= pageTasks) 0
        else math.min(limits.maxPages.toLong, (count + pageTasks - 1) / pageTasks).toInt
      val seed = ThreadLocalRandom.current().nextInt()
      val planTasks =
        (0 until pages).map(page => tokens.token(state.copy(page = page, pages = pages, seed = seed), table.scope))
      val id =
        Some(tokens.token(state.copy(page = 0, pages = 0, seed = 0), table.scope)).filter(_.length <= MaxIdLength)
      TasksJson.bytes(first.toSeq, planned.fold(forms)(forms.within), planTasks, id, isPlan = true)
    }
  }

  private def opened(table: PlannedTable, planId: String): PlanState =
    tokens
      .open(planId, table.scope)
      .filter(_.pages == 0)
      .getOrElse(throw new NoSuchPlanIdException("Cannot find the plan: its id is invalid or has expired."))

  private def parsed(body: Array[Byte]): PlanTableScanRequest = {
    val node = readable(JsonUtil.mapper().readTree(body))
    if (node == null || !node.isObject) throw Refusal.badRequest("Cannot read the request: it is not a JSON object.")
    Option(node.get("filter")).foreach(FilterLimits.check(_, limits))
    readable(PlanTableScanRequestParser.fromJson(node))
  }

  private def readable[A](read: => A): A =
    try read
    catch {
      case e: Refusal => throw e
      case NonFatal(_) =>
        throw Refusal.badRequest("Cannot read the request: its JSON is not that of Iceberg's protocol.")
    }

  /** Returns the files that the index has planned; `None` if Iceberg has planned the scan. */
  private def within(question: Question, deadline: Long)(use: Iterator[FileScanTask] => Unit): Option[FileSet] = {
    val scan = scanOf(question)
    Using.resource(scan.fold(CloseableIterable.empty[FileScanTask]())(_.planFiles())) { tasks =>
      Using.resource(tasks.iterator()) { each =>
        use(each.asScala.map { task =>
          if (System.nanoTime() > deadline)
            throw new Refusal(503, "ServiceUnavailableException", s"Cannot plan within ${limits.requestMillis} ms.")
          task
        })
      }
    }
    scan
      .collect { case indexed: ZoneMapTableScan => indexed }
      .flatMap(scan => Option(scan.planned().orElse(null)))
      .map(_.files)
  }

  private def scanOf(question: Question): Option[Scan[_, FileScanTask, _]] = {
    import question._
    if (isIncremental(request)) {
      // the protocol excludes the start
      val scan = table.newIncrementalAppendScan().toSnapshot(request.endSnapshotId().longValue)
      val started = Option(request.startSnapshotId()).fold(scan)(id => scan.fromSnapshotExclusive(id.longValue))
      Some(configured(started, request, filter))
    } else if (state.snapshotId == NoSnapshot) None
    else {
      val indexed =
        new ZoneMapTable(table.operations(), table.name(), _ => (), Long.box(state.snapshotId), settings, process)
      val weaker = filter.map(ClientFilter.weakened(_, schema, request.caseSensitive()))
      Some(configured[TableScan](indexed.newScan(state.snapshotId, schema), request, weaker))
    }
  }

  private def configured[S <: Scan[S, FileScanTask, _]](
      scan: S,
      request: PlanTableScanRequest,
      filter: Option[Expression]): S = {
    val cased = scan.caseSensitive(request.caseSensitive())
    val selected = Option(request.select()).fold(cased)(names => cased.select(names))
    val filtered = filter.fold(selected)(selected.filter)
    Option(request.statsFields()).filterNot(_.isEmpty).fold(filtered)(names => filtered.includeColumnStats(names))
  }

  private def pageOf(task: FileScanTask, state: PlanState): Int =
    Math.floorMod(MurmurHash3.stringHash(task.file().location(), state.seed), state.pages)

  private def withPlace[A](plan: Long => A): A = {
    if (!places.tryAcquire(limits.planWaitMillis, TimeUnit.MILLISECONDS))
      throw new Refusal(503, "ServiceUnavailableException", s"Cannot plan now: ${limits.plans} plans are being made.")
    try plan(System.nanoTime() + limits.requestMillis * 1000000)
    finally places.release()
  }
}

private object ScanPlans {

  /** A request about a table, with the schema whose names it uses. */
  private final class Question(val table: BaseTable, val request: PlanTableScanRequest, val state: PlanState) {

    val schema: Schema = {
      if (state.snapshotId != NoSnapshot) existing(table, state.snapshotId): Unit
      val found =
        if (request.useSnapshotSchema() && state.snapshotId != NoSnapshot)
          SnapshotUtil.schemaFor(table, state.snapshotId)
        else table.schemas().get(Int.box(state.schemaId))
      if (found == null)
        throw Refusal.badRequest(s"Cannot plan with schema ${state.schemaId}: the table has it no more.")
      found
    }

    val filter: Option[Expression] =
      try Option(request.filter()).map(ClientFilter.typed(_, schema, request.caseSensitive()))
      catch {
        case _: IllegalArgumentException =>
          throw Refusal.badRequest("Cannot read the filter: a literal of a binary column is not hexadecimal.")
      }

    def forms: TaskForms = new TaskForms(table.specs(), schema, filter, request.caseSensitive())
  }

  /** Counts the rows that tasks are certain to return, for a client that needs no more of them: SOUNDNESS, S209. */
  private final class EnoughRows(request: PlanTableScanRequest, forms: TaskForms) {
    private val wanted = Option(request.minRowsRequested()).map(_.longValue).filter(_ > 0)
    private var rows = 0L

    def isReached: Boolean = wanted.exists(rows >= _)

    def add(task: FileScanTask): Unit =
      if (wanted.isDefined && task.deletes().isEmpty && forms.residual(task.file()).op() == Operation.TRUE)
        rows += task.file().recordCount()
  }

  private def existing(table: BaseTable, snapshotId: Long): Long =
    if (table.snapshot(snapshotId) != null) snapshotId
    else throw Refusal.badRequest(s"Cannot plan snapshot $snapshotId: the table does not have it.")

  private def isIncremental(request: PlanTableScanRequest): Boolean = request.endSnapshotId() != null

  /** Stands for the snapshot of an empty table, and of an incremental scan. */
  private val NoSnapshot = -1L

  /** How much larger than aimed at the answers of a plan with the most pages may be. */
  private val MaxPageRatio = 4L

  /** About the size of a task in JSON, without what is left of the filter. */
  private val TaskBytes = 512L

  /** An id is a part of a path, whose length servers limit. */
  private val MaxIdLength = 4096
}
