package zonemap.spark.join

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide, JoinSelectionHelper}
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.slf4j.LoggerFactory

import zonemap.core.predicate.ColumnRef
import zonemap.iceberg.plan.FileSet

/**
 * Lets the keys of a broadcast join cut the files of the other side, on any column with bounds.
 *
 * Spark's dynamic partition pruning does it for partition columns, and only when the broadcast side is filtered. This
 * rule runs after that one, over planned scans: it puts the same expression above the scan, which Spark plans, reuses the
 * broadcast for and hands to the scan; and it wraps the scan, so that it can use them. The expression is always the kind
 * that is dropped when there is no broadcast to reuse: nothing is computed for it alone. See ADR 8.
 */
private[spark] object RuntimeJoinRule extends Rule[LogicalPlan] with JoinSelectionHelper with PredicateHelper {
  private val slf4j = LoggerFactory.getLogger("zonemap.planner")

  /** A key that on average may be in more than this part of the files is not worth a filter. */
  private val MaxAverageHits = 0.5

  /** So many keys, or so many a file, most likely leave no file out unless a filter chose them. */
  private val FewKeys = 10000
  private val FewKeysAFile = 16

  override def apply(plan: LogicalPlan): LogicalPlan =
    plan match {
      case subquery: Subquery if subquery.correlated => plan
      case _ if !conf.dynamicPartitionPruningEnabled || !conf.exchangeReuseEnabled || otherEngine => plan
      case _ if plan.exists(_.isInstanceOf[UnionLoop]) => plan
      case _ =>
        try {
          val once = scansMetOnce(plan)
          plan.transformUp { case join: Join => withFilters(join, once) }
        } catch {
          case e @ (NonFatal(_) | _: LinkageError | _: StackOverflowError) =>
            slf4j.warn(s"Zonemap: the keys of joins are not used at run time: $e")
            plan
        }
    }

  /** Engines that know Spark's and Iceberg's scans by their class. */
  private def otherEngine: Boolean =
    Seq("spark.plugins", "spark.sql.extensions").exists { key =>
      val value = conf.getConfString(key, "").toLowerCase
      value.contains("comet") || value.contains("gluten")
    }

  /**
   * The scans that stand at one place of the plan only. Keys change a scan for good, so that one that another rule has
   * copied must not get any.
   */
  private def scansMetOnce(plan: LogicalPlan): Scan => Boolean = {
    val places = new java.util.IdentityHashMap[Scan, Int]
    def visit(node: LogicalPlan): Unit =
      node.foreach { operator =>
        operator match {
          case relation: DataSourceV2ScanRelation =>
            places.merge(KeyFilteredScan.unwrapped(relation.scan), 1, (a, b) => a + b): Unit
          case _ => ()
        }
        operator.expressions.foreach(visitSubqueries)
      }
    def visitSubqueries(expression: Expression): Unit =
      expression match {
        case _: DynamicPruningSubquery => ()
        case subquery: SubqueryExpression => visit(subquery.plan); subquery.children.foreach(visitSubqueries)
        case other => other.children.foreach(visitSubqueries)
      }
    visit(plan)
    scan => places.get(KeyFilteredScan.unwrapped(scan)) == 1
  }

  private def withFilters(join: Join, once: Scan => Boolean): LogicalPlan =
    join match {
      case ExtractEquiJoinKeys(joinType, leftKeys, rightKeys, _, _, left, right, _) =>
        buildSide(join) match {
          case Some(BuildRight) if canPruneLeft(joinType) =>
            val filtered = withFilters(left, leftKeys, right, rightKeys, once)
            if (filtered eq left) join else join.copy(left = filtered)
          case Some(BuildLeft) if canPruneRight(joinType) =>
            val filtered = withFilters(right, rightKeys, left, leftKeys, once)
            if (filtered eq right) join else join.copy(right = filtered)
          case _ => join
        }
      case _ => join
    }

  private def buildSide(join: Join): Option[BuildSide] =
    getBroadcastBuildSide(join, hintOnly = true, conf).orElse(getBroadcastBuildSide(join, hintOnly = false, conf))

  private def withFilters(
      probe: LogicalPlan,
      probeKeys: Seq[Expression],
      build: LogicalPlan,
      buildKeys: Seq[Expression],
      once: Scan => Boolean): LogicalPlan =
    if (build.isStreaming) probe
    else
      probeKeys.zipWithIndex.foldLeft(probe) {
        case (plan, (Column(key), i)) if key.dataType == buildKeys(i).dataType =>
          KeyTarget
            .changed(plan, key, isProbeSide) { (leaf, filter, column) =>
              leaf match {
                case scan: DataSourceV2ScanRelation if once(scan.scan) && !filter.exists(filtersBy(_, column)) =>
                  filtered(scan, column, build, buildKeys, i)
                case _ => None
              }
            }
            .getOrElse(plan)
        case (plan, _) => plan
      }

  /** A filter below the broadcast side of another join would make its broadcast differ from what its own filters reuse. */
  private def isProbeSide(join: Join, side: LogicalPlan): Boolean =
    buildSide(join).forall {
      case BuildLeft => side eq join.right
      case BuildRight => side eq join.left
    }

  private def filtered(
      scan: DataSourceV2ScanRelation,
      column: Attribute,
      build: LogicalPlan,
      buildKeys: Seq[Expression],
      index: Int): Option[LogicalPlan] =
    for {
      relation <- ZoneMapRelation.unapply(scan.relation)
      if relation.conf.exists(_.runtimeJoins)
      files <- Option(relation.table.plannedFiles())
      ref <- relation.column(column)
      wrapped <- wrap(scan, relation, files, column.name, ref)
      if isWorthIt(files, ref, build)
    } yield Filter(
      DynamicPruningSubquery(column, build, buildKeys, Seq(index), onlyInBroadcast = true),
      scan.copy(scan = wrapped))

  private def filtersBy(condition: Expression, column: Attribute): Boolean =
    condition.exists {
      case pruning: DynamicPruningSubquery => pruning.pruningKey.semanticEquals(column)
      case _ => false
    }

  private def wrap(
      scan: DataSourceV2ScanRelation,
      relation: ZoneMapRelation,
      files: FileSet,
      name: String,
      column: ColumnRef): Option[KeyFilteredScan] =
    scan.scan match {
      case wrapped: KeyFilteredScan => Some(wrapped.withColumn(name, column))
      case inner if IcebergScans.isFilterable(inner) =>
        Some(new KeyFilteredScan(inner, relation.table.baseName, files, Map(name -> column)))
      case _ => None
    }

  private def isWorthIt(files: FileSet, column: ColumnRef, build: LogicalPlan): Boolean =
    files.count > 1 && (isFiltered(build) || hasFewKeys(build, files)) && files.averageHits(column) <= MaxAverageHits

  private def hasFewKeys(build: LogicalPlan, files: FileSet): Boolean =
    build.stats.rowCount.exists(_ <= BigInt(FewKeysAFile) * files.count.max(FewKeys / FewKeysAFile))

  private def isFiltered(build: LogicalPlan): Boolean =
    build.exists {
      case Filter(condition, _) => JoinKey.conjuncts(condition).exists(!_.isInstanceOf[IsNotNull])
      case _ => false
    }
}
