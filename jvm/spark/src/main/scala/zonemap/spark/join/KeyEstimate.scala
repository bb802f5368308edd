// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import org.apache.spark.sql.catalyst.expressions.{IsNotNull, PredicateHelper}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.plans.logical.statsEstimation.EstimationUtils
import org.apache.spark.sql.internal.SQLConf

import zonemap.core.predicate.ColumnRef
import zonemap.iceberg.prune.FileSet
import zonemap.iceberg.report.OperatorReason
import zonemap.iceberg.report.OperatorReason._

/** Estimates before a join runs how much its keys can prune. */
private[join] object KeyEstimate extends PredicateHelper {

  /** No filter is added for a column if a key can on average be in more than this share of the files. */
  private val MaxAverageHits = 0.5

  /**
   * An unfiltered build side with more rows than both [[FewKeys]] and [[FewKeysAFile]] for each file most likely prunes
   * no file.
   */
  private val FewKeys = 10000
  private val FewKeysAFile = 16

  /**
   * An estimate of the share of the files that hold one key, if pruning by the keys is likely to save time. `None` if
   * facts find the files of a key, and nothing estimates how many they are.
   */
  def ifWorthwhile(files: FileSet, column: ColumnRef, build: LogicalPlan): Either[OperatorReason, Option[Double]] = {
    lazy val rows = rowsAtMost(build)
    if (files.count > 1 && !isFiltered(build) && !rows.exists(_ <= fewKeys(files)))
      Left(JoinManyKeys(column.name, rows.fold("an unknown number of rows")(n => s"up to $n rows")))
    else ofFiles(files, column)
  }

  /** The number of keys that most likely prune files. */
  def fewKeys(files: FileSet): Int =
    (FewKeysAFile.toLong * files.count).max(FewKeys.toLong).min(Int.MaxValue - 1L).toInt

  /** True if keys may prune files, as far as this does not depend on the other side. */
  def mayPrune(files: FileSet, column: ColumnRef): Boolean =
    files.count > 1 && (files.averageHits(column) <= MaxAverageHits || files.isKnownByHashesOnly(column))

  private def ofFiles(files: FileSet, column: ColumnRef): Either[OperatorReason, Option[Double]] =
    if (files.count <= 1) Left(JoinOneFile)
    else if (files.isKnownByHashesOnly(column)) Right(None)
    else
      Option(files.averageHits(column)).filter(_ <= MaxAverageHits).map(Some(_)).toRight(inMostFiles(files, column))

  /** The reason why a key may be in most files. */
  private def inMostFiles(files: FileSet, column: ColumnRef): OperatorReason = {
    val doubtful = files.withoutValidBounds(column)
    if (!files.hasBounds(column)) JoinNoBounds(column.name)
    else if (doubtful > files.count * MaxAverageHits) JoinDoubtfulBounds(column.name, doubtful, files.count)
    else JoinKeysInMostFiles(column.name, Math.round(files.averageHits(column) * files.count), files.count)
  }

  /**
   * Estimates the greatest number of rows. Spark derives row counts through operators only with its cost-based
   * optimizer, so for projections, filters, aliases and aggregates this method uses the row count of their leaf. Files
   * and other sources state bytes only, so their row count is the bytes by Spark's width of a row.
   */
  private def rowsAtMost(plan: LogicalPlan): Option[BigInt] =
    plan.maxRows.map(BigInt(_)).orElse {
      plan match {
        case leaf: LeafNode =>
          val stats = leaf.stats
          stats.rowCount.orElse {
            Some(stats.sizeInBytes)
              .filter(_ < SQLConf.get.defaultSizeInBytes)
              .map(_ / EstimationUtils.getSizePerRow(leaf.output))
          }
        case unary @ (_: Project | _: Filter | _: SubqueryAlias | _: Aggregate) => rowsAtMost(unary.children.head)
        case _                                                                  => None
      }
    }

  private def isFiltered(build: LogicalPlan): Boolean =
    build.exists {
      case Filter(condition, _) => splitConjunctivePredicates(condition).exists(!_.isInstanceOf[IsNotNull])
      case _                    => false
    }
}
