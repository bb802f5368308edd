package zonemap.spark.join

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide, JoinSelectionHelper}
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.RightOuter
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

import zonemap.core.predicate.ColumnRef
import zonemap.iceberg.prune.FileSet
import zonemap.spark.scan.{Guarded, IcebergScans, OtherEngines, ScanPlaces, SwapRule}

/**
 * Prunes files of one side of a broadcast join by the join keys of the broadcast side, on any column with bounds.
 *
 * Spark's dynamic partition pruning does this for partition columns only, and only if the broadcast side is filtered.
 * This rule runs after it, on planned scans. The rule adds the expression of dynamic partition pruning above the scan:
 * Spark plans the expression, reuses the broadcast to evaluate it, and passes the keys to the scan. The rule also wraps
 * the scan in a [[KeyFilteredScan]], which prunes by the keys. Spark drops the expression if there is no broadcast to
 * reuse, so no query computes the keys only for pruning, except a MERGE that inserts. See ADR 8.
 */
private[spark] final class RuntimeJoinRule(swap: SwapRule)
    extends Rule[LogicalPlan]
    with JoinSelectionHelper
    with PredicateHelper {
  import RuntimeJoinRule.BuildKey

  /** No filter is added for a column if a key can on average be in more than this share of the files. */
  private val MaxAverageHits = 0.5

  /**
   * An unfiltered build side with more rows than both [[FewKeys]] and [[FewKeysAFile]] for each file most likely prunes
   * no file.
   */
  private val FewKeys = 10000
  private val FewKeysAFile = 16

  override def apply(plan: LogicalPlan): LogicalPlan =
    plan match {
      case _ if !plan.containsPattern(TreePattern.JOIN)                            => plan
      case subquery: Subquery if subquery.correlated                               => plan
      case _ if !conf.dynamicPartitionPruningEnabled || !conf.exchangeReuseEnabled => plan
      case _ if OtherEngines.areConfigured(conf)                                   => plan
      case _ if plan.exists(_.isInstanceOf[UnionLoop])                             => plan
      case _ =>
        Guarded
          .orNothing("pruning by the keys of its joins at run time") {
            val once = ScanPlaces.metOnce(plan, ignored = _.isInstanceOf[DynamicPruning])
            val ofDelta = plan.exists(_.isInstanceOf[WriteDelta])
            val inMerge = ofDelta && plan.exists(_.isInstanceOf[MergeRows])
            val known = new KnownScans(ofDelta, swap)
            Some(plan.transformUpWithPruning(_.containsPattern(TreePattern.JOIN)) {
              case join: Join if inMerge && join.joinType == RightOuter => withKeysOfSource(join, once, known)
              case join: Join                                           => withFilters(join, once, ofDelta, known)
            })
          }
          .getOrElse(plan)
    }

  private def withFilters(join: Join, once: Scan => Boolean, ofDelta: Boolean, known: KnownScans): LogicalPlan =
    join match {
      case ExtractEquiJoinKeys(joinType, leftKeys, rightKeys, _, _, left, right, _) =>
        buildSide(join) match {
          case Some(BuildRight) if canPruneLeft(joinType) =>
            val filtered = withFilters(left, leftKeys, right, rightKeys, once, ofDelta, known)
            if (filtered eq left) join else join.copy(left = filtered)
          case Some(BuildLeft) if canPruneRight(joinType) =>
            val filtered = withFilters(right, rightKeys, left, leftKeys, once, ofDelta, known)
            if (filtered eq right) join else join.copy(right = filtered)
          case _ => join
        }
      case _ => join
    }

  /**
   * Prunes the target of a MERGE that inserts. Such a MERGE retains every row of its source, so Spark does not
   * broadcast the source, and the keys are computed by evaluating the source a second time. This is done only if both
   * evaluations return the same rows: MERGE would insert a duplicate of a target row that pruning has lost.
   */
  private def withKeysOfSource(join: Join, once: Scan => Boolean, known: KnownScans): LogicalPlan =
    join match {
      case ExtractEquiJoinKeys(RightOuter, targetKeys, sourceKeys, _, _, target, source, _)
          if canBroadcastBySize(source, conf) && Repeatable(source) =>
        val filtered =
          withFilters(target, targetKeys, source, sourceKeys, once, ofDelta = true, known, keysOfPlan)
        if (filtered eq target) join else join.copy(left = filtered)
      case _ => join
    }

  /** Creates the expression that restricts a column to the values of a build key. */
  private type KeysOf = (Attribute, BuildKey) => DynamicPruning

  private val keysOfBroadcast: KeysOf = (column, of) =>
    DynamicPruningSubquery(column, of.build, of.all, Seq(of.index), onlyInBroadcast = true)

  /** Spark evaluates the plan for its keys, without DISTINCT: the plan is small, and DISTINCT would need a shuffle. */
  private val keysOfPlan: KeysOf = (column, of) => {
    val key = of.key match {
      case attribute: Attribute => attribute
      case other                => Alias(other, column.name)()
    }
    DynamicPruningExpression(InSubquery(Seq(column), ListQuery(Project(Seq(key), of.build), numCols = 1)))
  }

  /** Predicts the side that Spark will broadcast; `None` if there is none, also because a hint selects another join. */
  private def buildSide(join: Join): Option[BuildSide] =
    getBroadcastBuildSide(join, hintOnly = true, conf).orElse {
      val otherwise = Seq(join.hint.leftHint, join.hint.rightHint).flatten.flatMap(_.strategy).exists {
        case SHUFFLE_MERGE | SHUFFLE_HASH | SHUFFLE_REPLICATE_NL => true
        case _                                                   => false
      }
      if (otherwise) None else getBroadcastBuildSide(join, hintOnly = false, conf)
    }

  private def withFilters(
      probe: LogicalPlan,
      probeKeys: Seq[Expression],
      build: LogicalPlan,
      buildKeys: Seq[Expression],
      once: Scan => Boolean,
      ofDelta: Boolean,
      known: KnownScans,
      keysOf: KeysOf = keysOfBroadcast): LogicalPlan = {

    // Spark rejects keys of another type than the column's, which has another type below a projection with a cast
    def filtered(scan: DataSourceV2ScanRelation, column: Attribute, of: BuildKey): Option[LogicalPlan] =
      for {
        found <- known.of(scan)
        if column.dataType == of.key.dataType
        ref <- found.column(column)
        hits <- hitsIfWorthwhile(found.files, ref, build)
        wrapped <- wrap(scan, found, column.name, ref, Some(hits))
      } yield Filter(keysOf(column, of), scan.copy(scan = wrapped))

    // Spark's own filter of a partition column already passes the keys; with bounds they prune more files
    def wrapped(scan: DataSourceV2ScanRelation, column: Attribute): Option[LogicalPlan] =
      for {
        found <- known.of(scan)
        ref <- found.column(column)
        if !isWrapped(scan.scan, column.name) && found.files.count > 1
        wrapped <- wrap(scan, found, column.name, ref, hits = None)
      } yield scan.copy(scan = wrapped)

    if (build.isStreaming) probe
    else
      probeKeys.zip(buildKeys.indices.map(BuildKey(build, buildKeys, _))).foldLeft(probe) {
        case (plan, (Column(key), of)) if key.dataType == of.key.dataType =>
          KeyTarget
            .changed(plan, key, isProbeSide, ofDelta && numbersRows(_)) { (leaf, conditions, column) =>
              leaf match {
                case scan: DataSourceV2ScanRelation if once(scan.scan) =>
                  if (conditions.exists(filtersBy(_, column))) wrapped(scan, column) else filtered(scan, column, of)
                case _ => None
              }
            }
            .getOrElse(plan)
        case (plan, _) => plan
      }
  }

  /** True for the row ids that a MERGE adds to its target's rows. Any distinct ids are correct. */
  private def numbersRows(expression: Expression): Boolean =
    expression match {
      case Alias(MonotonicallyIncreasingID(), MergeRows.ROW_ID) => true
      case _                                                    => false
    }

  /**
   * True if `side` is not the broadcast side of the join. A filter below a broadcast side would change the broadcast,
   * and the filters of that join could no longer reuse it.
   */
  private def isProbeSide(join: Join, side: LogicalPlan): Boolean =
    buildSide(join).forall {
      case BuildLeft  => side eq join.right
      case BuildRight => side eq join.left
    }

  private def filtersBy(condition: Expression, column: Attribute): Boolean =
    condition.exists {
      case pruning: DynamicPruningSubquery                      => pruning.pruningKey.semanticEquals(column)
      case DynamicPruningExpression(InSubquery(Seq(pruned), _)) => pruned.semanticEquals(column)
      case _                                                    => false
    }

  private def isWrapped(scan: Scan, name: String): Boolean =
    scan match {
      case wrapped: KeyFilteredScan => wrapped.columns.contains(name)
      case _                        => false
    }

  /** @param hits an estimate of the share of the files that hold one key */
  private def wrap(
      scan: DataSourceV2ScanRelation,
      found: KnownScan,
      name: String,
      column: ColumnRef,
      hits: Option[Double]): Option[KeyFilteredScan] =
    scan.scan match {
      case wrapped: KeyFilteredScan => Some(wrapped.withColumn(name, KeyColumn(column, hits)))
      case inner if IcebergScans.isFilterable(inner) =>
        Some(new KeyFilteredScan(inner, found.tableName, found.files, Map(name -> KeyColumn(column, hits))))
      case _ => None
    }

  /** An estimate of the share of the files that hold one key, if pruning by the keys is likely to save time. */
  private def hitsIfWorthwhile(files: FileSet, column: ColumnRef, build: LogicalPlan): Option[Double] =
    Option
      .when(files.count > 1 && (isFiltered(build) || hasFewKeys(build, files)))(files.averageHits(column))
      .filter(_ <= MaxAverageHits)

  private def hasFewKeys(build: LogicalPlan, files: FileSet): Boolean =
    rowsAtMost(build).exists(_ <= BigInt(FewKeysAFile) * files.count.max(FewKeys / FewKeysAFile))

  /**
   * Returns an upper bound of the number of rows. Spark derives row counts through operators only with its cost-based
   * optimizer, so for projections, filters, aliases and aggregates this method uses the row count of their leaf.
   */
  private def rowsAtMost(plan: LogicalPlan): Option[BigInt] =
    plan.maxRows.map(BigInt(_)).orElse {
      plan match {
        case leaf: LeafNode                                                     => leaf.stats.rowCount
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

private object RuntimeJoinRule {

  /** One of the keys of a join's build side, of which a broadcast has all. */
  final case class BuildKey(build: LogicalPlan, all: Seq[Expression], index: Int) {
    def key: Expression = all(index)
  }
}
