// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.store

import java.util.concurrent.{CompletableFuture, CountDownLatch, Executors, TimeUnit}

import scala.concurrent.{Await, ExecutionContext, Future}
import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import org.apache.iceberg.Schema
import org.apache.iceberg.expressions.{Expression, Expressions}
import org.apache.iceberg.types.Types
import org.apache.iceberg.types.Types.NestedField.required
import org.scalatest.{Assertion, BeforeAndAfterEach}
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.predicate.ColumnRef
import zonemap.core.value.LongType
import zonemap.iceberg.plan.{IndexQuestions, Planned, Planning, ZoneMapTable}
import zonemap.iceberg.report.{PlanMode, StockReason}
import zonemap.iceberg.settings.ColdSettings
import zonemap.iceberg.testing.{FileKind, OwnProcess, Stats, TestFiles, TestTable}

/** Stores that hang or are slow: no plan waits beyond its budget, none for another table, and what was read is found later. */
class SlowStoreTest extends AnyFunSuite with BeforeAndAfterEach with OwnProcess {
  private val schema = new Schema(required(1, "id", Types.LongType.get()), required(2, "other", Types.LongType.get()))
  private val filter = Expressions.equal("id", 15L)
  private val budgetMillis = 400L
  private val settings = Planning.Off.copy(maxStoreWaitMillis = budgetMillis, segmentRows = 1)

  /** The time that a plan may take beyond its budget, on a busy machine. */
  private val marginMillis = 1500L

  @volatile private var release = new CountDownLatch(1)

  override def beforeEach(): Unit = {
    process.restart()
    process.access.cold.use(ColdSettings())
    process.access.cold.clear()
    release = new CountDownLatch(1)
  }

  override def afterEach(): Unit = release.countDown()

  private def table(commits: Int): TestTable = {
    val table = TestTable.create(schema)
    (0 until commits).foreach(append(table, _))
    table
  }

  private def append(table: TestTable, k: Int): Unit =
    table.append(
      TestFiles
        .data(table, Map("id" -> Stats.range(k * 10L, k * 10L + 9), "other" -> Stats.range(k * 7L, k * 7L + 50)))): Unit

  private def built(commits: Int = 3): TestTable = {
    val t = table(commits)
    Planning.build(t, settings)
    process.restart()
    t
  }

  /** Makes reads of the index's folder wait until they are released. */
  private def hang(t: TestTable, of: String => Boolean = _ => true): Unit =
    t.io.beforeRead = location =>
      if (FileKind.of(location) == FileKind.Store && of(location)) release.await(60, TimeUnit.SECONDS): Unit

  private def timed[A](work: => A): (A, Long) = {
    val started = System.nanoTime()
    val result = work
    (result, (System.nanoTime() - started) / 1000000)
  }

  /**
   * Plans within the time limit, and checks that the plan is correct. Where Iceberg plans after all, its own time comes
   * on top, which differs by a factor of two on a busy machine.
   */
  private def plan(t: TestTable, atMost: Long, asked: Expression = filter): Planned = {
    val (stock, stockMillis) = timed(Planning.stock(t, asked))
    val (planned, millis) = timed(Planning.ours(t, asked, settings))
    val limit = atMost + (if (planned.reason.isEmpty) 0 else 2 * stockMillis)
    assert(planned.paths == stock.map(_.file().location()).toSet)
    assert(millis <= limit, s"${planned.mode} in $millis ms, Iceberg in $stockMillis ms")
    planned
  }

  private def isSlow(planned: Planned): Boolean = planned.reason.exists(_.isInstanceOf[StockReason.StoreSlow])

  private def becomesExact(t: TestTable, asked: Expression = filter): Assertion = {
    release.countDown()
    val until = System.nanoTime() + 20.seconds.toNanos
    var mode = plan(t, 10000, asked).mode
    while (mode != PlanMode.Exact && System.nanoTime() < until) {
      Thread.sleep(50)
      mode = plan(t, 10000, asked).mode
    }
    assert(mode == PlanMode.Exact)
  }

  test(
    "opening the store hangs: the first plan waits for its budget, the next for nothing, and then the index is found") {
    val t = built()
    hang(t)
    assert(isSlow(plan(t, 4 * budgetMillis + marginMillis)))
    (0 until 3).foreach(_ => assert(isSlow(plan(t, marginMillis))))
    becomesExact(t)
  }

  test("a hanging store of a table without an index, and a sound one beside it") {
    val (without, sound) = (table(3), built())
    val hanging = built()
    hang(hanging)
    hang(without)
    assert(isSlow(plan(hanging, 4 * budgetMillis + marginMillis)))
    assert(isSlow(plan(without, 4 * budgetMillis + marginMillis)))
    assert(plan(sound, marginMillis).mode == PlanMode.Exact)
    release.countDown()
    assert(plan(without, marginMillis).reason.nonEmpty)
  }

  test("segments hang, forty of them: one table waits for its budget, another with a sound store for nothing") {
    val (many, sound) = (built(commits = 40), built())
    hang(many, _.contains("/segments/"))
    assert(isSlow(plan(many, 4 * budgetMillis + marginMillis)))
    assert(plan(sound, marginMillis).mode == PlanMode.Exact)
    (0 until 3).foreach(_ => assert(isSlow(plan(many, marginMillis))))
    becomesExact(many)
  }

  test("a held index whose sections hang: the plan is Iceberg's, and the index is not discarded") {
    val t = TestTable.create(schema)
    // more than the size up to which a file is fetched whole
    val random = new java.util.Random(5)
    t.append((0 until 75000).map { k =>
      val other = random.nextLong() >> 1
      TestFiles.data(
        t,
        Map("id" -> Stats.range(k * 10L, k * 10L + 9), "other" -> Stats.range(other, other + 5)),
        path = s"mem://lake/${new java.util.UUID(random.nextLong(), random.nextLong())}"
      )
    }: _*)
    Planning.build(t, settings)
    process.restart()
    val largest = t.io.storeFiles.map(t.io.bytes(_).length).max
    assert(largest > FileIOByteSource.WholeFileBytes, largest)
    assert(plan(t, 20000).mode == PlanMode.Exact)
    hang(t)
    val other = Expressions.equal("other", 4711L)
    assert(isSlow(plan(t, 4 * budgetMillis + marginMillis, other)))
    assert(isSlow(plan(t, marginMillis, other)))
    assert(plan(t, marginMillis).mode == PlanMode.Exact)
    becomesExact(t, other)
  }

  test("rules that ask before the scan share the relation's budget with it") {
    val t = built()
    hang(t)
    val relation = Planning.relation(t, settings)
    val column = ColumnRef(2, LongType, "other")
    val (_, millis) = timed {
      (0 until 5).foreach { _ =>
        assert(
          !IndexQuestions
            .canEvaluate(relation.pinned, Seq(column), isBounded = false) && relation.pinned.liveFiles.isEmpty)
        assert(relation.allowDistributedPlanning())
      }
      relation.newBatchScan().filter(filter).planFiles().close()
    }
    assert(millis <= 4 * budgetMillis + marginMillis, millis)
    assert(relation.lastPlan().mode.isInstanceOf[PlanMode.Stock])
  }

  test("requests that are each within the budget of a relation use it up together") {
    val budget = new StoreBudget(100, new StoreRequests)
    val workers = Executors.newSingleThreadScheduledExecutor()
    try {
      val slow = (0 until 50).find { _ =>
        val started = System.nanoTime()
        val response = new CompletableFuture[Unit]
        workers.schedule[Unit](() => response.complete(()): Unit, 60, TimeUnit.MILLISECONDS)
        try {
          StoreBudget.within(budget)(StoreBudget.await("store", response, () => System.nanoTime() - started))
          false
        } catch { case _: StoreSlowException => true }
      }
      assert(slow.isDefined)
    } finally workers.shutdown()
  }

  test("many plans of a hanging table at once, of many snapshots: each in its budget, on few threads") {
    val t = built()
    hang(t)
    val pool = Executors.newFixedThreadPool(16)
    implicit val context: ExecutionContext = ExecutionContext.fromExecutor(pool)
    try {
      val snapshots = (0 until 20).map { k => append(t, 10 + k); t.current.snapshotId() }
      val plans = snapshots.flatMap(id => Seq(id, id)).map { id =>
        Future {
          val relation =
            new ZoneMapTable(
              t.operations,
              t.name,
              org.apache.iceberg.metrics.LoggingMetricsReporter.instance(),
              id,
              settings,
              process.now)
          timed(relation.newBatchScan().useSnapshot(id).filter(filter).planFiles().close())._2
        }
      }
      val millis = plans.map(Await.result(_, 60.seconds))
      assert(millis.max <= 4 * budgetMillis + 2 * marginMillis, millis.sorted)
      val loading = Thread.getAllStackTraces.keySet().asScala.count { thread =>
        thread.getName.startsWith("zonemap-load") && thread.getStackTrace.exists(_.getMethodName == "readAll")
      }
      assert(loading > 0 && loading <= 4)
    } finally pool.shutdown()
    becomesExact(t)
  }

  test("a slow store is waited for some requests more") {
    val t = built()
    t.io.beforeRead = location => if (FileKind.of(location) == FileKind.Store) Thread.sleep(150)
    assert(plan(t, 4 * budgetMillis + marginMillis).mode == PlanMode.Exact)
  }

  test("procedures wait as long as it takes") {
    val t = built()
    hang(t)
    val builder = new Thread(() => Planning.build(t, settings): Unit)
    builder.start()
    builder.join(4 * budgetMillis + marginMillis)
    assert(builder.isAlive)
    release.countDown()
    builder.join(20000)
    assert(!builder.isAlive)
    becomesExact(t)
  }

  test("one store has some of the threads, and another one its own; a store that hangs is told from one that works") {
    val pool = new StorePool("zonemap-test", maxThreads = 16, perStore = 3)
    val (started, others) = (new CountDownLatch(3), new CountDownLatch(5))
    val running = new java.util.concurrent.atomic.AtomicInteger
    (0 until 10).foreach(_ => pool.execute("hangs") { running.incrementAndGet(); started.countDown(); release.await() })
    assert(started.await(5, TimeUnit.SECONDS))
    (0 until 5).foreach(_ => pool.execute("sound")(others.countDown()))
    assert(others.await(5, TimeUnit.SECONDS) && running.get == 3 && !pool.isStuck("hangs"))
    Thread.sleep(2200)
    assert(pool.isStuck("hangs") && !pool.isStuck("sound") && running.get == 3)
    release.countDown()
    val until = System.nanoTime() + 5.seconds.toNanos
    while (running.get < 10 && System.nanoTime() < until) Thread.sleep(10)
    assert(running.get == 10 && !pool.isStuck("hangs"))
  }
}
