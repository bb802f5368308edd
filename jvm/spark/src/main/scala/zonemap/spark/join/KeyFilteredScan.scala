// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression, Literal}
import org.apache.spark.sql.connector.expressions.{Literal => SparkLiteral, NamedReference}
import org.apache.spark.sql.connector.expressions.filter.{Predicate => SparkPredicate}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.partitioning.Partitioning
import org.apache.spark.sql.connector.read.streaming.{ContinuousStream, MicroBatchStream}
import org.slf4j.LoggerFactory

import zonemap.iceberg.prune.FileSet
import zonemap.iceberg.report.{CountedStep, FileTotal, LogFields, MillisText, PlanStep, Survivable}
import zonemap.spark.scan.{ForwardingScan, IcebergScans}

/**
 * Iceberg's scan with pruning at run time: once Spark has the keys of a join, or the value of a condition's subquery,
 * this scan removes the tasks of files that cannot hold a row with them. A key may be of any column with bounds, or of
 * an expression of one.
 *
 * All other methods forward to Iceberg's scan. Like Iceberg's own runtime filter, `filter` changes the scan's tasks, on
 * the driver only and before Spark plans partitions. The keys are part of Spark's plan, so Spark does not reuse the
 * scan for other keys. SOUNDNESS, S120.
 *
 * @param files the index's entries of the files that `inner` was planned with
 * @param keys the keys by name
 */
private[zonemap] final class KeyFilteredScan(
    val inner: Scan,
    tableName: String,
    files: FileSet,
    keys: Map[String, EstimatedKey])
    extends ForwardingScan
    with SupportsReportPartitioning
    with SupportsRuntimeV2Filtering {
  import KeyFilteredScan._

  override def unwrapped: Scan = inner

  private val filterable = inner.asInstanceOf[SupportsRuntimeV2Filtering]

  /** By join key: the files before and after pruning, once `filter` ran. */
  @volatile private var cuts = Map.empty[String, CountedStep]

  override def steps: Seq[(PlanStep, Option[CountedStep])] =
    keys.keys.toSeq.sorted.map(name => (PlanStep.JoinKeys(name), cuts.get(name)))

  /** One line for each join key, for EXPLAIN. */
  def notes: Seq[String] =
    keys.toSeq.sortBy(_._1).map { case (name, key) =>
      val effect =
        cuts.get(name).fold(s"at run time${key.estimate(files)}")(cut => FileTotal.change(cut.before, cut.after))
      s"join pruning on $name: $effect"
    }

  /** Returns this scan with one more key; `None` if another key has the same name. */
  def withKey(added: EstimatedKey): Option[KeyFilteredScan] =
    Option.when(keys.get(added.key.name).forall(_.key == added.key)) {
      new KeyFilteredScan(inner, tableName, files, keys + (added.key.name -> added))
    }

  override def passedAs(expression: Expression): Option[AttributeReference] =
    keys.values.map(_.key).find(_.isFor(expression)).map(_.passedAs)

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

  /** Prunes the tasks if the predicate has keys of one of `keys`. Returns true if it did. */
  private def isCut(predicate: SparkPredicate): Boolean =
    keyName(predicate).collect { case Seq(one) => one }.flatMap(keys.get).map(_.key).exists { key =>
      try {
        cut(key, valuesOf(predicate))
        true
      } catch {
        case Survivable(e) =>
          log.warn(s"Zonemap: the keys of ${key.name} do not prune files of $tableName: $e")
          false
      }
    }

  private def cut(key: RuntimeKey, values: Seq[Literal]): Unit = {
    val started = System.nanoTime()
    val kept = files.keep(key.whenAmong(values))
    val (before, after) = IcebergScans.remove(inner, files.pathsWithout(kept))
    val first = cuts.get(key.name).fold(before)(_.before)
    cuts = cuts.updated(key.name, CountedStep(PlanStep.JoinKeys(key.name), first, after))
    val fields = Seq[(String, Any)](
      "table" -> tableName,
      "join_keys" -> key.name,
      "keys" -> values.size,
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

  private[join] def scanKeys: Map[String, RuntimeKey] = keys.map { case (name, estimated) => name -> estimated.key }

  override def equals(other: Any): Boolean =
    other match {
      case that: KeyFilteredScan => inner == that.inner && scanKeys == that.scanKeys
      case _                     => false
    }
}

/**
 * A key that prunes files.
 *
 * @param hits an estimate of the share of the files that hold one key; `None` if it was not needed
 */
private[zonemap] final case class EstimatedKey(key: RuntimeKey, hits: Option[Double]) {

  /** The estimate as text, before the keys are known. */
  def estimate(files: FileSet): String =
    hits.fold("") { share =>
      s", one ${key.ofOne} is in about ${Math.max(1L, Math.round(share * files.count))} of ${files.count} files"
    }
}

private[zonemap] object KeyFilteredScan {
  private val log = LoggerFactory.getLogger("zonemap.planner")

  /** Returns the planned scan with pruning by one more key; `None` if it is not Iceberg's or cannot have the key. */
  def over(scan: Scan, found: PrunableScan, key: EstimatedKey): Option[KeyFilteredScan] =
    scan match {
      case wrapped: KeyFilteredScan => wrapped.withKey(key)
      case inner if IcebergScans.isFilterable(inner) =>
        Some(new KeyFilteredScan(inner, found.tableName, found.files, Map(key.key.name -> key)))
      case _ => None
    }

  /** Returns the name parts of the column whose keys the predicate lists. */
  private def keyName(predicate: SparkPredicate): Option[Seq[String]] =
    predicate.children().headOption.collect {
      case reference: NamedReference if predicate.name() == "IN" => reference.fieldNames().toSeq
    }

  private def valuesOf(predicate: SparkPredicate): Seq[Literal] =
    predicate.children().tail.toSeq.map {
      case literal: SparkLiteral[_] => Literal(literal.value, literal.dataType)
      case other                    => throw new IllegalArgumentException(s"'$other' is not a literal")
    }
}
