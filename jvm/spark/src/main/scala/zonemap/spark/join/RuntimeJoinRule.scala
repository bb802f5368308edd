// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide, JoinSelectionHelper}
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.{Cross, LeftAnti, LeftOuter, RightOuter}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.internal.SQLConf

import zonemap.iceberg.report.OperatorReason._
import zonemap.iceberg.report.{ByteText, OperatorReason}
import zonemap.spark.expression.{Bare, ExpressionSql}
import zonemap.spark.scan.{Guarded, OtherEngines, ScanPlaces, SparkMinor, SwapRule}

/**
 * Prunes files of one side of a broadcast join by the join keys of the broadcast side, on any column with bounds.
 *
 * Spark's dynamic partition pruning does this for partition columns only, and only if the broadcast side is filtered.
 * This rule runs after it, on planned scans. The rule adds the expression of dynamic partition pruning above the scan:
 * Spark plans the expression, reuses the broadcast to evaluate it, and passes the keys to the scan. The rule also wraps
 * the scan in a [[KeyFilteredScan]], which prunes by the keys. Spark drops the expression if there is no broadcast to
 * reuse, so no query computes the keys only for pruning, except a MERGE that inserts. See ADR 8.
 */
private[zonemap] object RuntimeJoinRule extends Rule[LogicalPlan] with JoinSelectionHelper with PredicateHelper {

  override def apply(plan: LogicalPlan): LogicalPlan =
    plan match {
      case _ if !plan.containsPattern(TreePattern.JOIN) => plan
      case subquery: Subquery if subquery.correlated    => plan
      case _ if obstacle(plan).isDefined =>
        obstacle(plan).foreach(NotPrunedByKeys.note(plan, _))
        plan
      case _ =>
        Guarded
          .orNothing("pruning by the keys of its joins at run time") {
            val query = new Query(plan)
            Some(plan.transformUpWithPruning(_.containsPattern(TreePattern.JOIN)) {
              case join: Join if query.keepsSource(join) => withKeysOfSource(join, query)
              case join: Join                            => withFilters(withHeldSide(join, query), query)
            })
          }
          .getOrElse(plan)
    }

  /** The reason why no scan of a plan is pruned by keys at run time. */
  private def obstacle(plan: LogicalPlan): Option[OperatorReason] =
    if (!conf.dynamicPartitionPruningEnabled) Some(JoinSparkConf(SQLConf.DYNAMIC_PARTITION_PRUNING_ENABLED.key))
    else if (!conf.exchangeReuseEnabled) Some(JoinSparkConf(SQLConf.EXCHANGE_REUSE_ENABLED.key))
    else if (OtherEngines.areConfigured(conf)) Some(JoinNotTried("another engine runs the scans"))
    else if (plan.exists(SparkMinor.isRecursive)) Some(JoinNotTried("the query is recursive"))
    else None

  private def withFilters(join: Join, query: Query): LogicalPlan =
    join match {
      case ExtractEquiJoinKeys(joinType, leftKeys, rightKeys, _, _, left, right, _) =>
        val side = buildSide(join)
        def pruned(probe: LogicalPlan, probeKeys: Seq[Expression], build: LogicalPlan, buildKeys: Seq[Expression]) = {
          val isBroadcast = side.contains(if (build eq right) BuildRight else BuildLeft)
          if (isBroadcast && !build.isStreaming)
            withFilters(probe, probeKeys, build, buildKeys, query)
          else {
            val reason = notBroadcast(join, build, isBroadcast, side.isDefined, _)
            probeKeys.foreach { key =>
              val why = reason(ExpressionSql.of(Column.within(key)))
              into(probe, key, query)((leaf, _, _) => noted(leaf, why)): Unit
            }
            probe
          }
        }
        val newLeft =
          if (joinType == Cross || canPruneLeft(joinType)) pruned(left, leftKeys, right, rightKeys) else left
        val newRight =
          if (joinType == Cross || canPruneRight(joinType)) pruned(right, rightKeys, left, leftKeys) else right
        if ((newLeft eq left) && (newRight eq right)) join else join.copy(left = newLeft, right = newRight)
      case _ => withRanges(join, query)
    }

  /**
   * Holds the rows of a side whose size Spark does not know, if Spark can broadcast it then and its keys may prune the
   * other side, which Spark may have to broadcast instead. A query holds only rows that the driver has already; a
   * command holds the rows of any source.
   */
  private def withHeldSide(join: Join, query: Query): Join =
    join match {
      case ExtractEquiJoinKeys(joinType, leftKeys, rightKeys, _, _, left, right, _)
          if SparkMinor.broadcastSide(join, hintOnly = true, conf).isEmpty && !hintsOtherJoin(join) =>
        def held(build: LogicalPlan, probe: LogicalPlan, keys: Seq[Expression]) =
          if (HeldRows.isOfUnknownSize(build) && query.holds(build, probe))
            rowsWorthHolding(probe, keys, query).flatMap(HeldRows.of(build, _))
          else None
        def heldRight =
          if (canPruneLeft(joinType) && canBuildBroadcastRight(joinType))
            held(right, left, leftKeys).map(rows => join.copy(left = withoutFiltersOf(right, left), right = rows))
          else None
        def heldLeft =
          if (canPruneRight(joinType) && canBuildBroadcastLeft(joinType))
            held(left, right, rightKeys).map(rows => join.copy(left = rows, right = withoutFiltersOf(left, right)))
          else None
        heldRight.orElse(heldLeft).getOrElse(join)
      case _ => join
    }

  /** The number of rows of the other side below which keys may prune files; `None` if no file can be pruned. */
  private def rowsWorthHolding(probe: LogicalPlan, keys: Seq[Expression], query: Query): Option[Int] = {
    var rows = Option.empty[Int]
    keys.foreach { key =>
      intoScans(probe, key, query) { (scan, _, own) =>
        query.known.of(scan).foreach { found =>
          if (found.key(own).exists(k => k.restricts && KeyEstimate.mayPrune(found.files, k.column)))
            rows = Some(KeyEstimate.fewKeys(found.files).max(rows.getOrElse(0)))
        }
        None
      }
    }
    rows
  }

  /**
   * Removes filters that Spark has made of a side whose rows are held now, because another run of the side may give
   * other keys: filters by its values, and the search for matching rows that Spark 4.2 makes of each command.
   */
  private def withoutFiltersOf(side: LogicalPlan, plan: LogicalPlan): LogicalPlan = {
    def isOfSide(condition: Expression) =
      condition match {
        case pruning: DynamicPruningSubquery =>
          pruning.buildQuery.collectLeaves().exists(leaf => side.collectLeaves().exists(_.sameResult(leaf)))
        case DynamicPruningExpression(InSubquery(_, search)) => search.plan.exists(isOfCommand)
        case _                                               => false
      }
    plan.transformUp { case filter @ Filter(condition, child) =>
      val (removed, kept) = splitConjunctivePredicates(condition).partition(isOfSide)
      if (removed.isEmpty) filter else kept.reduceOption(And(_, _)).fold(child)(Filter(_, child))
    }
  }

  private def isOfCommand(node: LogicalPlan): Boolean =
    node match {
      case scan: DataSourceV2ScanRelation => SwapRule.isOfCommand(scan.relation.options)
      case _                              => false
    }

  /**
   * Prunes the sides of a join without an equality by the ranges that rows of the other side allow. Spark cannot reuse
   * the broadcast of such a join for its keys, so they are computed by a second plan as for a MERGE that inserts.
   */
  private def withRanges(join: Join, query: Query): Join = {
    def pruned(probe: LogicalPlan, build: LogicalPlan): LogicalPlan =
      RangeCondition.of(join.condition, probe, build).foldLeft(probe) { (plan, range) =>
        intoScans(plan, range.tested, query) { (scan, conditions, own) =>
          if (conditions.exists(filtersBy(_, range.over(own)))) None
          else inRanges(scan, own, range, build, query.known).fold(noted(scan, _), Some(_))
        }.getOrElse(plan)
      }
    val isCross = join.joinType == Cross
    val left = if (isCross || canPruneLeft(join.joinType)) pruned(join.left, join.right) else join.left
    val right = if (isCross || canPruneRight(join.joinType)) pruned(join.right, join.left) else join.right
    if ((left eq join.left) && (right eq join.right)) join else join.copy(left = left, right = right)
  }

  private def inRanges(
      scan: DataSourceV2ScanRelation,
      key: Expression,
      range: RangeCondition,
      build: LogicalPlan,
      known: PrunableScans): Either[OperatorReason, LogicalPlan] =
    for {
      found <- known.of(scan)
      own <- found.key(key).toRight(JoinNoBounds(ExpressionSql.of(Column.within(key))))
      _ <- Either.cond(own.restricts, (), notOfColumn(own))
      ranges = new RangeKey(own, range)
      hits <- KeyEstimate.ifWorthwhile(found.files, own.column, build)
      values <- keysOfPlan(range.over(key), BuildKey(build, Seq(range.ofRow), 0))
      wrapped <- KeyFilteredScan
        .over(scan.scan, found, EstimatedKey(ranges, hits))
        .toRight(JoinNotTried("Iceberg's scan is of another kind"))
    } yield Filter(values, scan.copy(scan = wrapped))

  /** The reason why a side of a join gets no keys, although the join drops its rows without a match. */
  private def notBroadcast(
      join: Join,
      build: LogicalPlan,
      isBroadcast: Boolean,
      isOtherBroadcast: Boolean,
      column: String): OperatorReason =
    if (isBroadcast) JoinNotTried("the other side is a stream")
    else if (isOtherBroadcast) JoinBroadcastSide(column)
    else {
      val size = build.stats.sizeInBytes
      val known =
        if (size < conf.defaultSizeInBytes) s"its size is about ${ByteText.of(size.toLong)}"
        else "its size is not known"
      val allowed =
        if (build eq join.right) canBuildBroadcastRight(join.joinType) else canBuildBroadcastLeft(join.joinType)
      JoinNotBroadcast(
        column,
        if (!allowed) s"in a join of type ${join.joinType.sql} it broadcasts this side only"
        else if (hintsOtherJoin(join)) "a hint selects another join"
        else s"$known, and ${SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key} is ${conf.autoBroadcastJoinThreshold}"
      )
    }

  /**
   * Prunes the optional side of a join that retains the rows of its source, as that of a MERGE that inserts. Spark does
   * not broadcast the source, so the keys are computed by evaluating a second plan, which returns at least the keys of
   * the source ([[KeyPlan]]): MERGE would insert a duplicate of a target row that pruning has lost. If there is no such
   * plan, the source is evaluated once, and its rows are held.
   */
  private def withKeysOfSource(join: Join, query: Query): LogicalPlan = {
    def filtered(
        target: LogicalPlan,
        targetKeys: Seq[Expression],
        source: LogicalPlan,
        sourceKeys: Seq[Expression]): Option[(LogicalPlan, LogicalPlan)] = {
      def by(source: LogicalPlan, target: LogicalPlan) =
        withFilters(target, targetKeys, source, sourceKeys, query, keysOfPlan)
      val found = by(source, target)
      if (found ne target) Some((found, source))
      else if (!query.canHold(source) || sourceKeys.exists(KeyPlan.of(source, _).isDefined)) None
      else
        rowsWorthHolding(target, targetKeys, query)
          .flatMap(HeldRows.of(source, _))
          .map(held => (by(held, withoutFiltersOf(source, target)), held))
    }
    join match {
      case ExtractEquiJoinKeys(RightOuter, targetKeys, sourceKeys, _, _, target, source, _) =>
        filtered(target, targetKeys, source, sourceKeys).fold(join) { case (t, s) => join.copy(left = t, right = s) }
      case ExtractEquiJoinKeys(LeftAnti | LeftOuter, sourceKeys, targetKeys, _, _, source, target, _) =>
        filtered(target, targetKeys, source, sourceKeys).fold(join) { case (t, s) => join.copy(left = s, right = t) }
      case _ => withRanges(join, query)
    }
  }

  /** Creates the expression that restricts a column to the values of a build key. */
  private type KeysOf = (Expression, BuildKey) => Either[OperatorReason, DynamicPruning]

  private val keysOfBroadcast: KeysOf = (key, of) => {
    CachedRows.mark(of.build)
    Right(SparkMinor.keysOfBroadcast(key, of.build, of.all, of.index))
  }

  /** Spark evaluates the plan for its keys, without DISTINCT: the plan is small, and DISTINCT would need a shuffle. */
  private val keysOfPlan: KeysOf = (key, of) =>
    for {
      plan <- KeyPlan.of(of.build, of.key).toRight(JoinNotTried("another run of the source may return other keys"))
      _ <- Either.cond(canBroadcastBySize(plan, conf), (), JoinNotTried("the source is larger than a broadcast may be"))
    } yield DynamicPruningExpression(InSubquery(Seq(key), ListQuery(plan, numCols = 1)))

  /** Predicts the side that Spark will broadcast; `None` if there is none, also because a hint selects another join. */
  private def buildSide(join: Join): Option[BuildSide] =
    SparkMinor.broadcastSide(join, hintOnly = true, conf).orElse {
      if (hintsOtherJoin(join)) None else SparkMinor.broadcastSide(join, hintOnly = false, conf)
    }

  private def hintsOtherJoin(join: Join): Boolean =
    Seq(join.hint.leftHint, join.hint.rightHint).flatten.flatMap(_.strategy).exists {
      case SHUFFLE_MERGE | SHUFFLE_HASH | SHUFFLE_REPLICATE_NL => true
      case _                                                   => false
    }

  private def withFilters(
      probe: LogicalPlan,
      probeKeys: Seq[Expression],
      build: LogicalPlan,
      buildKeys: Seq[Expression],
      query: Query,
      keysOf: KeysOf = keysOfBroadcast): LogicalPlan = {

    def filtered(scan: DataSourceV2ScanRelation, key: Expression, of: BuildKey): Either[OperatorReason, LogicalPlan] =
      for {
        found <- query.known.of(scan)
        own <- found.key(key).toRight(JoinNoBounds(ExpressionSql.of(Column.within(key))))
        _ <- Either.cond(own.restricts, (), notOfColumn(own))
        hits <- KeyEstimate.ifWorthwhile(found.files, own.column, build)
        keys <- keysOf(key, of)
        wrapped <- KeyFilteredScan
          .over(scan.scan, found, EstimatedKey(own, hits))
          .toRight(JoinNotTried("Iceberg's scan is of another kind"))
      } yield Filter(keys, scan.copy(scan = wrapped))

    // Spark's own filter of a partition column already passes the keys; with bounds they prune more files
    def wrapped(scan: DataSourceV2ScanRelation, key: Expression): Option[LogicalPlan] =
      for {
        found <- query.known.of(scan).toOption
        own <- found.key(key)
        if own.restricts && !isWrapped(scan.scan, own) && found.files.count > 1
        wrapped <- KeyFilteredScan.over(scan.scan, found, EstimatedKey(own, hits = None))
      } yield scan.copy(scan = wrapped)

    probeKeys.zipWithIndex.foldLeft(probe) { case (plan, (key, index)) =>
      intoScans(plan, key, query) { (scan, conditions, own) =>
        if (conditions.exists(filtersBy(_, own))) wrapped(scan, own)
        else filtered(scan, own, BuildKey(build, buildKeys, index)).fold(noted(scan, _), Some(_))
      }.getOrElse(plan)
    }
  }

  /** The reason why values of a key do not restrict its column. */
  private def notOfColumn(key: ScanKey): OperatorReason =
    key.expression match {
      case cast @ Cast(Bare(column), _, _, _) => JoinKeyTypes(key.column.name, column.dataType.sql, cast.dataType.sql)
      case _                                  => JoinCondition
    }

  /** Changes the scans from whose columns the key is computed, if they occur once in the plan. */
  private def intoScans(plan: LogicalPlan, key: Expression, query: Query)(
      change: (DataSourceV2ScanRelation, Seq[Expression], Expression) => Option[LogicalPlan]): Option[LogicalPlan] =
    into(plan, key, query) { (leaf, conditions, own) =>
      leaf match {
        case scan: DataSourceV2ScanRelation if query.once(scan.scan) => change(scan, conditions, own)
        case scan: DataSourceV2ScanRelation                          => noted(scan, JoinSeveralPlaces)
        case _                                                       => None
      }
    }

  private def into(plan: LogicalPlan, key: Expression, query: Query)(
      change: (LogicalPlan, Seq[Expression], Expression) => Option[LogicalPlan]): Option[LogicalPlan] =
    KeyTarget.changed(plan, key, isProbeSide, query.isDelta && numbersRows(_), NotPrunedByKeys.note)(change)

  private def noted(plan: LogicalPlan, reason: OperatorReason): Option[LogicalPlan] = {
    NotPrunedByKeys.note(plan, reason)
    None
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

  private def filtersBy(condition: Expression, key: Expression): Boolean =
    condition.exists {
      case pruning: DynamicPruningSubquery                      => pruning.pruningKey.semanticEquals(key)
      case DynamicPruningExpression(InSubquery(Seq(pruned), _)) => pruned.semanticEquals(key)
      case _                                                    => false
    }

  private def isWrapped(scan: Scan, key: ScanKey): Boolean =
    scan match {
      case wrapped: KeyFilteredScan => wrapped.scanKeys.get(key.name).contains(key)
      case _                        => false
    }

  /** What the rule asks of the plan that it optimizes. */
  private final class Query(plan: LogicalPlan) {
    val once: Scan => Boolean = ScanPlaces.metOnce(plan, ignored = _.isInstanceOf[DynamicPruning])
    val known = new PrunableScans
    val isDelta: Boolean = plan.exists(_.isInstanceOf[WriteDelta])
    private val inMerge = isDelta && plan.exists(_.isInstanceOf[MergeRows])
    private val appended = plan.collectFirst { case append: AppendData => append.table.name }

    /**
     * True if a side is planned for several places, which must have the same rows: Spark copies subqueries, and a
     * copy-on-write command reads its source in its search for matching rows too ([[CommandSourceRule]]).
     */
    private val isCopied = plan.isInstanceOf[Subquery] || (!isDelta && plan.exists(_.isInstanceOf[RowLevelWrite]))

    /** True if rows of a side may be held to prune the other one. */
    def holds(side: LogicalPlan, pruned: LogicalPlan): Boolean =
      canHold(side) && !isCopied && (if (pruned.exists(isOfCommand)) isDelta else HeldRows.areInDriver(side))

    def canHold(side: LogicalPlan): Boolean = !CommandSourceRule.hasTried(plan, side) && !HeldRows.namesFiles(plan)

    /**
     * True for the join of a MERGE that inserts, and for an outer join that retains rows of the driver: Spark does not
     * broadcast the side that a join retains.
     */
    def keepsSource(join: Join): Boolean =
      join.joinType match {
        case RightOuter => inMerge || isOfDriver(join.right)
        case LeftOuter  => isOfDriver(join.left)
        case LeftAnti   => appended.exists(isRead(_, join.right))
        case _          => false
      }

    private def isRead(name: String, plan: LogicalPlan): Boolean =
      plan.exists {
        case scan: DataSourceV2ScanRelation => scan.relation.table.name() == name
        case _                              => false
      }

    private def isOfDriver(side: LogicalPlan): Boolean =
      !isCopied && HeldRows.isOfUnknownSize(side) && HeldRows.areInDriver(side)
  }

  /** A key of the build side of a join; `all` lists every key of the broadcast. */
  private final case class BuildKey(build: LogicalPlan, all: Seq[Expression], index: Int) {
    def key: Expression = all(index)
  }
}
