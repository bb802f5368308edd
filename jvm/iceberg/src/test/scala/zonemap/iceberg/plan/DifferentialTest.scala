// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.plan

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success, Try}

import org.apache.iceberg.{DataFile, FileFormat, FileScanTask, PartitionSpec, Schema}
import org.apache.iceberg.exceptions.ValidationException
import org.apache.iceberg.expressions._
import org.apache.iceberg.types.Type
import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.build.LocalRunner
import zonemap.iceberg.prune.PartitionFilter
import zonemap.iceberg.report.PlanMode
import zonemap.iceberg.testing.{OwnProcess, RandomTable, Rng, RowOracle, TestProcess, TestRow}

/**
 * Plans random filters on random tables and index states, and compares the plans with Iceberg's and with the rows
 * themselves.
 *
 * `-Dzonemap.checks=N` sets the number of checked plans, `-Dzonemap.seed=S` the first table; the message of a failure
 * contains the seed with which its table is replayed first.
 */
class DifferentialTest extends AnyFunSuite with OwnProcess {
  import DifferentialTest._

  private val wanted = sys.props.get("zonemap.checks").fold(3000)(_.toInt)

  test(s"$wanted random plans: no matching file dropped, partitions exact, tasks equal, kept within Iceberg's") {
    println(s"DifferentialTest: -Dzonemap.seed=${Rng.baseSeed}")
    val totals = new Totals
    var seed = Rng.baseSeed
    while (totals.checks < wanted) {
      new TableRun(seed, totals, process).run()
      seed += 1
    }
    println(s"DifferentialTest: $totals")
    assert(totals.planned > totals.checks * 0.6, totals)
    assert(totals.kept < totals.considered * 0.75, s"the index hardly skips: $totals")
    // StockEqualityTest asserts that IN prunes beyond Iceberg's limit, because few random filters are so long
  }
}

object DifferentialTest {
  private final class Totals {
    var checks, planned, hybrid, extra, fewer = 0
    var considered, kept = 0L
    val reasons = mutable.TreeMap.empty[String, Int].withDefaultValue(0)

    override def toString: String =
      s"$checks plans, $planned by the index ($hybrid hybrid), $kept of $considered files kept, $fewer plans with fewer " +
        s"files than Iceberg's, $extra with more; by Iceberg: ${reasons.mkString(", ")}"
  }

  private val StepsPerTable = 12
  private val FiltersPerStep = 15

  private final class TableRun(seed: Long, totals: Totals, own: TestProcess) {
    private implicit val process: TestProcess = own
    private val rng = new Rng(seed)
    private val random = new RandomTable(rng)
    private val table = random.table
    private val states = mutable.ArrayBuffer.empty[String]

    def run(): Unit = {
      process.restart()
      guarded("making the table")(random.append())
      (0 until StepsPerTable).foreach { _ =>
        guarded("a commit")(random.commit())
        guarded("a change of the index")(changeIndex())
        val files = random.liveFiles
        val past = pastSnapshot()
        (0 until FiltersPerStep).foreach { n =>
          past.filter(_ => n == 0).fold(check(files, table.schema, identity)) { id =>
            val refine: Planning.Refine = _.useSnapshot(id)
            check(Planning.stock(table, refine = refine).map(_.file()).toIndexedSeq, schemaOf(id), refine)
          }
        }
      }
    }

    /**
     * A snapshot other than the current one: Iceberg 1.11 binds a filter to the newest schema, whatever the
     * snapshot's schema.
     */
    private def pastSnapshot(): Option[Long] = {
      val past = table.load().snapshots().asScala.map(_.snapshotId()).filterNot(_ == table.current.snapshotId()).toSeq
      Option.when(past.nonEmpty && rng.chance(30))(rng.pick(past))
    }

    private def schemaOf(snapshotId: Long): Schema =
      org.apache.iceberg.util.SnapshotUtil.schemaFor(table.load(), snapshotId)

    /** Makes the index fresh, stale, refreshed, forgotten, damaged or partly missing. */
    private def changeIndex(): Unit = {
      val loaded = table.load()
      val state = rng.int(100) match {
        case n if n < 25 =>
          Planning.build(table)
          "build"
        case n if n < 35 =>
          process.admin.refresh(loaded, loaded.currentSnapshot(), Planning.Off, new LocalRunner(_))
          "refresh"
        case n if n < 45 =>
          process.restart()
          "forget"
        case n if n < 55 && table.io.storeFiles.nonEmpty =>
          damage(rng.pick(table.io.storeFiles))
          process.restart()
          "damage"
        case n if n < 60 =>
          process.tables.of(loaded).evictOldest()
          "evict"
        case _ => "stale"
      }
      states += state: Unit
    }

    private def damage(location: String): Unit = {
      val bytes = table.io.bytes(location)
      if (bytes.isEmpty || rng.chance(30)) table.io.remove(location)
      else if (rng.chance(40)) table.io.put(location, bytes.take(rng.int(bytes.length)))
      else {
        val changed = bytes.clone()
        (0 to rng.int(4)).foreach(_ => changed(rng.int(changed.length)) = rng.int(256).toByte)
        table.io.put(location, changed)
      }
    }

    private def check(files: IndexedSeq[DataFile], schema: Schema, refine: Planning.Refine): Unit = {
      val filter = random.filter(schema)
      val settings = if (rng.chance(85)) Planning.Covering else Planning.Off
      guarded(s"filter $filter") {
        totals.checks += 1
        Try(resolved(Planning.stock(table, filter, refine))) match {
          case Success(stock) => compare(Planning.ours(table, filter, settings, refine), stock, files, schema, filter)
          case Failure(error) if isKnownDefect(error) => totals.reasons("ICEBERG_FAILED") += 1
          case Failure(error)                         => throw error
        }
      }
    }

    /** Computes the residuals of tasks, so that a filter that Iceberg cannot evaluate fails here. */
    private def resolved(tasks: Seq[FileScanTask]): Seq[FileScanTask] = { tasks.foreach(_.residual()); tasks }

    /**
     * Iceberg evaluates NOT IN and STARTS WITH on a null string without a null test, and evaluates a transform term
     * on an identity-partitioned column as if the term were the column.
     */
    private def isKnownDefect(error: Throwable): Boolean = error match {
      case _: NullPointerException => Seq("Invalid object: null", "String.startsWith").exists(error.getMessage.contains)
      case _: ValidationException  => error.getMessage.startsWith("Invalid value for conversion to type")
      case _                       => false
    }

    private def compare(
        planned: Planned,
        stock: Seq[FileScanTask],
        files: Seq[DataFile],
        schema: Schema,
        filter: Expression): Unit =
      planned.reason match {
        case Some(reason) =>
          totals.reasons(reason.code) += 1
          assert(reason.code != "PLANNER_FAILED", reason.message)
          same(planned.paths, stock)
        case None => checkPlan(planned, stock, files, schema, filter)
      }

    private def same(paths: Set[String], stock: Seq[FileScanTask]): Unit =
      assert(paths == stock.map(_.file().location()).toSet, "Iceberg's plan was used but files differ")

    private def checkPlan(
        planned: Planned,
        stock: Seq[FileScanTask],
        files: Seq[DataFile],
        schema: Schema,
        filter: Expression): Unit = {
      count(planned, stock)
      val bound = RowOracle.bind(filter, schema)
      // Iceberg treats such prefixes as whole truncated values (SOUNDNESS, S67), so only the rows decide here
      val icebergMiscounts = PartitionFilter.holdsMiscounted(filter)
      // both plans drop a file that Iceberg's partition evaluation drops, also where a truncation overflows
      val specs = table.load().specs()
      def inPartition(f: DataFile) =
        icebergMiscounts || Try(partitionKeeps(specs.get(f.specId()).toUnbound.bind(schema), f, filter)).getOrElse(true)
      files.filterNot(f => planned.paths(f.location()) || !inPartition(f)).foreach { file =>
        random.rowsOf(file.location()).find(row => bound(new TestRow(row, schema.asStruct()))).foreach { row =>
          throw new AssertionError(s"dropped ${describe(file)} that holds the matching row $row")
        }
      }
      if (!icebergMiscounts) likeIceberg(planned, stock, files.map(f => f.location() -> f).toMap, schema, filter)
    }

    private def likeIceberg(
        planned: Planned,
        stock: Seq[FileScanTask],
        live: Map[String, DataFile],
        schema: Schema,
        filter: Expression): Unit = {
      planned.tasks.foreach { task =>
        val file = live.getOrElse(task.file().location(), throw new AssertionError(s"not a live file: ${task.file()}"))
        assert(partitionKeeps(task.spec(), file, filter), s"kept ${describe(file)} whose partition cannot match")
      }
      val inStock = stock.map(_.file().location()).toSet
      planned.tasks.map(_.file()).filterNot(f => inStock(f.location())).foreach { extra =>
        assert(
          allowedExtra(live(extra.location()), schema, filter),
          s"kept ${describe(live(extra.location()))} that Iceberg drops")
      }
      Planning.difference(planned.tasks, stock).foreach(d => throw new AssertionError(d))
      countsSteps(planned)
    }

    /** The steps that EXPLAIN lists end with the files of the plan, and none of them adds files. */
    private def countsSteps(planned: Planned): Unit = {
      val steps = planned.report.steps.getOrElse(throw new AssertionError("the steps were not counted"))
      val bytes = planned.tasks.map(_.file().fileSizeInBytes()).sum
      assert(steps.considered.files == planned.report.considered, s"$steps, ${planned.report.considered} files")
      assert(steps.planned.files == planned.tasks.size, s"$steps, ${planned.tasks.size} tasks")
      assert(steps.planned.bytes.forall(_ == bytes), s"$steps, $bytes bytes in the plan")
      steps.steps.foreach(s => assert(s.prunedFiles >= 0 && s.prunedBytes.forall(_ >= 0), steps))
    }

    private def count(planned: Planned, stock: Seq[FileScanTask]): Unit = {
      totals.planned += 1
      if (planned.mode == PlanMode.Hybrid) totals.hybrid += 1
      totals.considered += planned.report.considered
      totals.kept += planned.report.kept
      val inStock = stock.map(_.file().location()).toSet
      if ((planned.paths -- inStock).nonEmpty) totals.extra += 1
      if ((inStock -- planned.paths).nonEmpty) totals.fewer += 1
    }

    private def describe(file: DataFile): String =
      s"${file.location()} (${file.format()}, ${file.partition()}, rows ${random.rowsOf(file.location())})"

    private def guarded(what: String)(body: => Unit): Unit =
      try body
      catch {
        case e: Throwable =>
          throw new AssertionError(
            s"-Dzonemap.seed=$seed: $what: ${e.getMessage}\n  table: v${random.formatVersion} ${table.spec}, commits " +
              s"${random.history.mkString(", ")}; index ${states.mkString(", ")}\n  schema: ${table.schema}",
            e
          )
      }
  }

  private def assert(holds: Boolean, what: => Any): Unit = if (!holds) throw new AssertionError(what)

  private def partitionKeeps(spec: PartitionSpec, file: DataFile, filter: Expression): Boolean =
    spec.isUnpartitioned || new Evaluator(spec.partitionType(), Projections.inclusive(spec, true).project(filter), true)
      .eval(file.partition())

  /**
   * Whether our plan may contain a file that Iceberg drops: Iceberg's bounds exclude NaN and have their own orders of
   * zeros and uuids, null counts of struct fields are unreliable outside of Parquet, and not every transform term
   * becomes a range.
   */
  private def allowedExtra(file: DataFile, schema: Schema, filter: Expression): Boolean =
    leavesOf(filter).exists { leaf =>
      val field = schema.findField(leaf.ref().name())
      val loose = Set(Type.TypeID.FLOAT, Type.TypeID.DOUBLE, Type.TypeID.UUID)(field.`type`().typeId())
      loose || leaf.term().isInstanceOf[UnboundTransform[_, _]] ||
      (file.format() != FileFormat.PARQUET && leaf.ref().name().contains("."))
    }

  private def leavesOf(filter: Expression): Seq[UnboundPredicate[_]] =
    ExpressionVisitors.visit(
      filter,
      new ExpressionVisitors.ExpressionVisitor[Seq[UnboundPredicate[_]]] {
        override def alwaysTrue(): Seq[UnboundPredicate[_]] = Nil
        override def alwaysFalse(): Seq[UnboundPredicate[_]] = Nil
        override def not(child: Seq[UnboundPredicate[_]]): Seq[UnboundPredicate[_]] = child
        override def and(left: Seq[UnboundPredicate[_]], right: Seq[UnboundPredicate[_]]): Seq[UnboundPredicate[_]] =
          left ++ right
        override def or(left: Seq[UnboundPredicate[_]], right: Seq[UnboundPredicate[_]]): Seq[UnboundPredicate[_]] =
          left ++ right
        override def predicate[T](leaf: UnboundPredicate[T]): Seq[UnboundPredicate[_]] = Seq(leaf)
      }
    )
}
