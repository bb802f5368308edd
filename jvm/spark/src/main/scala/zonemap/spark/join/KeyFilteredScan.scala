package zonemap.spark.join

import org.apache.spark.sql.connector.expressions.{Literal, NamedReference}
import org.apache.spark.sql.connector.expressions.filter.{Predicate => SparkPredicate}
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.partitioning.Partitioning
import org.apache.spark.sql.connector.read.streaming.{ContinuousStream, MicroBatchStream}
import org.slf4j.LoggerFactory

import zonemap.core.predicate.{ColumnRef, In, IsNaN, Predicate, SortedValues}
import zonemap.iceberg.plan.{FileSet, Survivable}
import zonemap.spark.expression.{CatalystValues, Encoded}
import zonemap.spark.rule.ForwardingScan

/**
 * Iceberg's scan, whose tasks are cut by join keys on any column with bounds once Spark knows the keys.
 *
 * Everything but `filter` is Iceberg's. Like Iceberg's own runtime filter it changes the scan's tasks, before Spark asks
 * for partitions and on the driver only; the keys are part of Spark's plan, which tells scans apart. SOUNDNESS, S70.
 *
 * @param files what the index knows of the files that `inner` was planned with
 * @param columns the join keys by name
 */
private[spark] final class KeyFilteredScan(
    val inner: Scan,
    tableName: String,
    files: FileSet,
    val columns: Map[String, ColumnRef])
    extends ForwardingScan
    with SupportsReportPartitioning
    with SupportsRuntimeV2Filtering {
  import KeyFilteredScan._

  override def unwrapped: Scan = inner

  private val filterable = inner.asInstanceOf[SupportsRuntimeV2Filtering]
  @volatile private var skipped = 0L

  /** What has been done so far, for people. */
  @volatile var notes: Seq[String] = columns.keys.toSeq.sorted.map(name => s"join pruning on $name: at run time")

  def withColumn(name: String, column: ColumnRef): KeyFilteredScan =
    new KeyFilteredScan(inner, tableName, files, columns + (name -> column))

  override def filterAttributes(): Array[NamedReference] = filterable.filterAttributes()

  /**
   * The index knows partitions too, and asks each of them once; Iceberg is asked of its partition columns where the index
   * was not. Its own filter fails on a null among partitions of texts.
   */
  override def filter(predicates: Array[SparkPredicate]): Unit = {
    fixColumnarMode()
    val byPartition = filterable.filterAttributes().map(_.fieldNames().toSeq).toSet
    val rest = predicates.filterNot(isCut)
    val forIceberg = rest.filter(p => keyName(p).forall(key => byPartition(key)))
    if (forIceberg.nonEmpty) filterable.filter(forIceberg)
  }

  /** Cuts the tasks by the keys if they are of a column of ours; whether it did. */
  private def isCut(predicate: SparkPredicate): Boolean =
    keyName(predicate).collect { case Seq(one) => one }.flatMap(columns.get).exists { column =>
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
    skipped += before - after
    val note = s"join pruning on ${column.name}: $before -> $after files"
    notes = notes.filterNot(_.startsWith(s"join pruning on ${column.name}:")) :+ note
    log.info(f"Zonemap: table=$tableName $note by ${keys.size}%d keys ms=${(System.nanoTime() - started) / 1e6}%.1f")
  }

  /**
   * Known here without partitions; Iceberg's scan has Spark plan them anew for each copy of the node to find it out. It is
   * told of all planned tasks: files of a format that is read by rows may fall out, but readers may have been made before.
   */
  private lazy val columnarMode =
    if (inner.columnarSupportMode() == Scan.ColumnarSupportMode.PARTITION_DEFINED && IcebergScans.readsBatches(inner))
      Scan.ColumnarSupportMode.SUPPORTED
    else inner.columnarSupportMode()

  /** Before the first task falls out, see [[columnarMode]]. */
  private def fixColumnarMode(): Unit = columnarMode: Unit

  override def columnarSupportMode(): Scan.ColumnarSupportMode = columnarMode

  override def supportedCustomMetrics(): Array[CustomMetric] =
    super.supportedCustomMetrics() :+ new FilesSkippedByJoinKeys

  override def reportDriverMetrics(): Array[CustomTaskMetric] =
    super.reportDriverMetrics() :+ new CustomTaskMetric {
      override def name(): String = FilesSkippedByJoinKeys.Name
      override def value(): Long = skipped
    }

  override def toBatch: Batch = inner.toBatch
  override def toMicroBatchStream(checkpoint: String): MicroBatchStream = inner.toMicroBatchStream(checkpoint)
  override def toContinuousStream(checkpoint: String): ContinuousStream = inner.toContinuousStream(checkpoint)
  override def outputPartitioning(): Partitioning = inner.asInstanceOf[SupportsReportPartitioning].outputPartitioning()

  override def equals(other: Any): Boolean =
    other match {
      case that: KeyFilteredScan => inner == that.inner && columns == that.columns
      case _                     => false
    }
}

private[spark] object KeyFilteredScan {
  private val log = LoggerFactory.getLogger("zonemap.planner")

  /** The column that a set of keys is about. */
  private def keyName(predicate: SparkPredicate): Option[Seq[String]] =
    predicate.children().headOption.collect {
      case reference: NamedReference if predicate.name() == "IN" => reference.fieldNames().toSeq
    }

  private def keysOf(predicate: SparkPredicate): Seq[Encoded] =
    predicate.children().tail.toSeq.map {
      case literal: Literal[_] => CatalystValues.encode(literal.dataType, literal.value)
      case other               => throw new IllegalArgumentException(s"'$other' is no literal")
    }

  /** Null equals nothing, and NaN itself. */
  private def holding(column: ColumnRef, keys: Seq[Encoded]): Predicate = {
    val values = In(column, SortedValues.of(keys.collect { case Encoded.Value(v) => v }))
    if (keys.contains(Encoded.NaN)) Predicate.or(values, IsNaN(column)) else values
  }
}

/** Data files that were planned and then left out by the keys of joins. */
final class FilesSkippedByJoinKeys extends org.apache.spark.sql.connector.metric.CustomSumMetric {
  override def name(): String = FilesSkippedByJoinKeys.Name
  override def description(): String = "number of data files pruned by join keys"
}

object FilesSkippedByJoinKeys {
  val Name = "zonemapFilesSkippedByJoinKeys"
}
