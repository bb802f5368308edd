// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import org.apache.spark.sql.connector.expressions.{Literal, NamedReference}
import org.apache.spark.sql.connector.expressions.filter.{Predicate => SparkPredicate}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.partitioning.Partitioning
import org.apache.spark.sql.connector.read.streaming.{ContinuousStream, MicroBatchStream}
import org.slf4j.LoggerFactory

import zonemap.core.predicate.{ColumnRef, In, IsNaN, Predicate, SortedValues}
import zonemap.iceberg.prune.FileSet
import zonemap.iceberg.report.{CountedStep, FileTotal, LogFields, MillisText, PlanStep, Survivable}
import zonemap.spark.expression.{CatalystValues, Encoded}
import zonemap.spark.scan.{ForwardingScan, IcebergScans}

/**
 * Iceberg's scan with pruning by join keys: once Spark has the keys, this scan removes the tasks of files that cannot
 * hold a key. The keys may be of any column with bounds.
 *
 * All other methods forward to Iceberg's scan. Like Iceberg's own runtime filter, `filter` changes the scan's tasks, on
 * the driver only and before Spark plans partitions. The keys are part of Spark's plan, so Spark does not reuse the
 * scan for other keys. SOUNDNESS, S120.
 *
 * @param files the index's entries of the files that `inner` was planned with
 * @param columns the join keys by name
 */
private[zonemap] final class KeyFilteredScan(
    val inner: Scan,
    tableName: String,
    files: FileSet,
    val columns: Map[String, KeyColumn])
    extends ForwardingScan
    with SupportsReportPartitioning
    with SupportsRuntimeV2Filtering {
  import KeyFilteredScan._

  override def unwrapped: Scan = inner

  private val filterable = inner.asInstanceOf[SupportsRuntimeV2Filtering]

  /** By join key: the files before and after pruning, once `filter` ran. */
  @volatile private var cuts = Map.empty[String, CountedStep]

  override def steps: Seq[(PlanStep, Option[CountedStep])] =
    columns.keys.toSeq.sorted.map(name => (PlanStep.JoinKeys(name), cuts.get(name)))

  /** One line for each join key, for EXPLAIN. */
  def notes: Seq[String] =
    columns.toSeq.sortBy(_._1).map { case (name, key) =>
      val effect =
        cuts.get(name).fold(s"at run time${key.estimate(files)}")(cut => FileTotal.change(cut.before, cut.after))
      s"join pruning on $name: $effect"
    }

  def withColumn(name: String, column: KeyColumn): KeyFilteredScan =
    new KeyFilteredScan(inner, tableName, files, columns + (name -> column))

  override def filterAttributes(): Array[NamedReference] = filterable.filterAttributes()

  /**
   * Prunes by the index where a predicate has keys of one of `columns`. Only the other predicates on partition columns
   * go to Iceberg's own filter, because that filter fails if a partition of strings is null. The index also evaluates
   * partitions, so nothing is lost.
   */
  override def filter(predicates: Array[SparkPredicate]): Unit = {
    fixColumnarMode()
    val byPartition = filterable.filterAttributes().map(_.fieldNames().toSeq).toSet
    val rest = predicates.filterNot(isCut)
    val forIceberg = rest.filter(p => keyName(p).forall(key => byPartition(key)))
    if (forIceberg.nonEmpty) filterable.filter(forIceberg)
  }

  /** Prunes the tasks if the predicate has keys of one of `columns`. Returns true if it did. */
  private def isCut(predicate: SparkPredicate): Boolean =
    keyName(predicate).collect { case Seq(one) => one }.flatMap(columns.get).map(_.column).exists { column =>
      try {
        cut(column, keysOf(predicate))
        true
      } catch {
        case Survivable(e) =>
          log.warn(s"Zonemap: the keys of ${column.name} do not prune files of $tableName: $e")
          false
      }
    }

  private def cut(column: ColumnRef, keys: Seq[Encoded]): Unit = {
    val started = System.nanoTime()
    val kept = files.keep(holding(column, keys))
    val (before, after) = IcebergScans.remove(inner, files.pathsWithout(kept))
    val first = cuts.get(column.name).fold(before)(_.before)
    cuts = cuts.updated(column.name, CountedStep(PlanStep.JoinKeys(column.name), first, after))
    val fields = Seq[(String, Any)](
      "table" -> tableName,
      "join_keys" -> column.name,
      "keys" -> keys.size,
      "files_before" -> before.files,
      "files_after" -> after.files,
      "ms" -> MillisText.of((System.nanoTime() - started) / 1e6)
    )
    log.info(s"Zonemap: ${LogFields.of(fields)}")
  }

  /**
   * The columnar mode, determined without planning partitions. If this scan returned Iceberg's mode,
   * `PARTITION_DEFINED`, Spark would plan the partitions again for each copy of the node. The mode is determined from
   * all planned tasks, before any is removed: pruning could remove the files that are read by rows, but Spark may have
   * created readers before.
   */
  private lazy val columnarMode =
    if (inner.columnarSupportMode() == Scan.ColumnarSupportMode.PARTITION_DEFINED && IcebergScans.readsBatches(inner))
      Scan.ColumnarSupportMode.SUPPORTED
    else inner.columnarSupportMode()

  /** Determines [[columnarMode]] before the first task is removed. */
  private def fixColumnarMode(): Unit = columnarMode: Unit

  override def columnarSupportMode(): Scan.ColumnarSupportMode = columnarMode

  override def toMicroBatchStream(checkpoint: String): MicroBatchStream = inner.toMicroBatchStream(checkpoint)
  override def toContinuousStream(checkpoint: String): ContinuousStream = inner.toContinuousStream(checkpoint)
  override def outputPartitioning(): Partitioning = inner.asInstanceOf[SupportsReportPartitioning].outputPartitioning()

  private def keys: Map[String, ColumnRef] = columns.view.mapValues(_.column).toMap

  override def equals(other: Any): Boolean =
    other match {
      case that: KeyFilteredScan => inner == that.inner && keys == that.keys
      case _                     => false
    }
}

/**
 * A column of which join keys prune files.
 *
 * @param hits an estimate of the share of the files that hold one key; `None` if it was not needed
 */
private[zonemap] final case class KeyColumn(column: ColumnRef, hits: Option[Double]) {

  /** The estimate as text, before the keys are known. */
  def estimate(files: FileSet): String =
    hits.fold("") { share =>
      s", one key is in about ${Math.max(1L, Math.round(share * files.count))} of ${files.count} files"
    }
}

private[zonemap] object KeyFilteredScan {
  private val log = LoggerFactory.getLogger("zonemap.planner")

  /** Returns the name parts of the column whose keys the predicate lists. */
  private def keyName(predicate: SparkPredicate): Option[Seq[String]] =
    predicate.children().headOption.collect {
      case reference: NamedReference if predicate.name() == "IN" => reference.fieldNames().toSeq
    }

  private def keysOf(predicate: SparkPredicate): Seq[Encoded] =
    predicate.children().tail.toSeq.map {
      case literal: Literal[_] => CatalystValues.encode(literal.dataType, literal.value)
      case other               => throw new IllegalArgumentException(s"'$other' is not a literal")
    }

  /** The predicate `column IN keys` with the equality of joins: null equals no value, and NaN equals NaN. */
  private def holding(column: ColumnRef, keys: Seq[Encoded]): Predicate = {
    val values = In(column, SortedValues.of(keys.collect { case Encoded.Value(v) => v }))
    if (keys.contains(Encoded.NaN)) Predicate.or(values, IsNaN(column)) else values
  }
}
