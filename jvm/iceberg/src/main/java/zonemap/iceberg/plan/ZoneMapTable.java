// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.plan;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.BatchScan;
import org.apache.iceberg.PlanningMode;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SerializableTable;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.TableScan;
import org.apache.iceberg.metrics.MetricsReporter;
import zonemap.core.predicate.Predicate;
import zonemap.iceberg.prune.FirstRows;
import zonemap.iceberg.prune.LimitCut;
import zonemap.iceberg.prune.ScanHints;
import zonemap.iceberg.report.PlanReport;
import zonemap.iceberg.settings.PlannerSettings;
import zonemap.iceberg.upkeep.UpkeepProcess;

/**
 * An Iceberg table whose batch scans are planned from the zonemap index when it covers their snapshot, and by Iceberg
 * otherwise.
 *
 * <p>Only {@link #newBatchScan()} and {@link #newScan(long, Schema)} use the index. {@code newScan()} is Iceberg's own on
 * purpose: maintenance and metadata deletes use it. Executors never load this class: it serializes as Iceberg's
 * serializable table.
 */
public final class ZoneMapTable extends BaseTable {
  /** Whether Spark asks the table if it may plan with its distributed scan, as from Iceberg 1.11 on. */
  private static final boolean ASKS_TABLES =
      Arrays.stream(BaseTable.class.getInterfaces())
          .anyMatch(type -> type.getSimpleName().equals("SupportsDistributedScanPlanning"));

  private final transient PinnedRelation pinned;
  private final transient ScanHints hints;
  private transient volatile PlanReport lastPlan;

  /**
   * @param snapshotId the snapshot the relation is pinned to, or null if the table is empty
   * @param settings the settings of the query; its index is that of this JVM
   */
  public ZoneMapTable(
      TableOperations ops,
      String name,
      MetricsReporter reporter,
      Long snapshotId,
      PlannerSettings settings) {
    this(ops, name, reporter, snapshotId, settings, UpkeepProcess.ofJvmWith(settings));
  }

  /**
   * @param snapshotId the snapshot the relation is pinned to, or null if the table is empty
   * @param settings the settings of the query
   * @param process holds the index
   */
  public ZoneMapTable(
      TableOperations ops,
      String name,
      MetricsReporter reporter,
      Long snapshotId,
      PlannerSettings settings,
      UpkeepProcess process) {
    this(
        new PinnedRelation(new BaseTable(ops, name, reporter), snapshotId, settings, process));
  }

  /** @param pinned the relation as the query reads it */
  public ZoneMapTable(PinnedRelation pinned) {
    this(pinned, ScanHints.Empty(), pinned.table().operations());
  }

  private ZoneMapTable(PinnedRelation pinned, ScanHints hints, TableOperations operations) {
    super(operations, pinned.name(), pinned.table().reporter());
    this.pinned = pinned;
    this.hints = hints;
  }

  /**
   * Returns this table for a query that returns only rows for which {@code predicate} is TRUE.
   *
   * <p>Scans of the returned table plan other files than scans of this table, so it has another name: Spark and Iceberg
   * compare names to find out whether two scans are the same.
   *
   * @param predicate bound by the field ids of the schema the relation is pinned to
   * @param digest equal for two predicates only if they select the same rows
   */
  public ZoneMapTable withFunctions(Predicate predicate, String digest) {
    return with(hints.withFunctions(predicate, digest));
  }

  /**
   * Returns this table for a query that returns only rows for which {@code predicate} is TRUE, because a join drops all
   * other rows.
   *
   * @param predicate bound like the predicate of {@link #withFunctions}
   * @param digest equal for two predicates only if they select the same rows
   * @param note a line about the predicate for EXPLAIN
   */
  public ZoneMapTable withJoinKeys(Predicate predicate, String digest, String note) {
    return with(hints.withJoinKeys(predicate, digest, note));
  }

  /**
   * Returns this table for a query that needs a number of arbitrary rows of a scan.
   *
   * @param digest equal for two cuts only if they plan the same files
   */
  public ZoneMapTable withLimit(LimitCut limit, String digest) {
    return with(hints.withLimit(limit, digest));
  }

  /**
   * Returns this table for a query that needs only the first rows of a sort directly above its scan.
   *
   * @param bound TRUE for each of these rows, bound like the predicate of {@link #withFunctions}; only the planner
   *     of the index evaluates it
   * @param description the bound as text for EXPLAIN
   * @param digest equal for two bounds only if they are the same
   */
  public ZoneMapTable withTopK(Predicate bound, String description, String digest) {
    return with(hints.withTopK(new FirstRows(bound, description), digest));
  }

  /**
   * Returns the table of another relation, with other operations. Scans take snapshots and schemas from the metadata of
   * the operations.
   *
   * @param other the relation as the query reads it
   * @param operations operations of the same table
   * @param digest equal for two operations only if scans of them read the same snapshot
   */
  public ZoneMapTable over(PinnedRelation other, TableOperations operations, String digest) {
    return new ZoneMapTable(other, hints.withDigest(digest), operations);
  }

  /** Copies this table with other hints; the copy is the same relation and shares the pinned snapshot. */
  private ZoneMapTable with(ScanHints others) {
    return new ZoneMapTable(pinned, others, operations());
  }

  /** Returns the table with Iceberg's own planning. */
  public BaseTable stock() {
    return pinned.table();
  }

  /**
   * Returns the name with a suffix that distinguishes the scans of tables with other hints. Commits have the name
   * without it, by which upkeep finds the index of their table.
   */
  @Override
  public String name() {
    return pinned.name() + hints.nameSuffix();
  }

  /** Returns the name without the suffix that distinguishes scans. */
  public String baseName() {
    return pinned.name();
  }

  /**
   * Returns the name that users know, which Spark shows for scans. Spark and Iceberg compare scans by {@link #name()},
   * which also has the suffix.
   */
  @Override
  public String toString() {
    return baseName();
  }

  /**
   * Returns the relation that scans of this table read: the pinned snapshot, the query's settings and the resolved
   * index.
   */
  public PinnedRelation pinned() {
    return pinned;
  }

  /** Returns a predicate that every row of the query's result satisfies besides the scan's filter; TRUE if none. */
  public Predicate expressions() {
    return hints.expressions();
  }

  /**
   * Returns a predicate that every needed row of this relation satisfies besides the scan's filter; TRUE if there is
   * none. With a bound of first rows, it holds for the rows that the sort and limit above the relation return.
   */
  public Predicate conditions() {
    return hints.conditions();
  }

  /** Returns the conditions and limits of the query besides the scan's filter. */
  ScanHints hints() {
    return hints;
  }

  /** Returns the lines about the keys of joins for EXPLAIN. */
  public List<String> notes() {
    return hints.notes();
  }

  @Override
  public BatchScan newBatchScan() {
    return new ZoneMapBatchScan(ZoneMapTableScan.like(newScan(), this, schema()));
  }

  /**
   * Returns a scan of a snapshot for a planner without Spark. Unlike {@code newScan().useSnapshot(id)}, the caller
   * chooses the schema: Iceberg's scan of a branch takes that of the table, and time travel that of the snapshot.
   *
   * @param snapshotId the snapshot the relation is pinned to
   * @param schema the columns that the filter and the projection may name
   */
  public ZoneMapTableScan newScan(long snapshotId, Schema schema) {
    return ZoneMapTableScan.like(newScan().useSnapshot(snapshotId), this, schema);
  }

  /**
   * Returns true if Spark may plan with its own distributed scan, which does not call {@link #newBatchScan()}: only
   * while the index does not cover the pinned snapshot.
   */
  @Override
  public boolean allowDistributedPlanning() {
    return !pinned.covers();
  }

  /** Returns the table's properties. Iceberg 1.10 asks them for what later versions ask the method above. */
  @Override
  public Map<String, String> properties() {
    Map<String, String> properties = super.properties();
    if (ASKS_TABLES || allowDistributedPlanning()) {
      return properties;
    }
    Map<String, String> local = new HashMap<>(properties);
    local.put(TableProperties.DATA_PLANNING_MODE, PlanningMode.LOCAL.modeName());
    local.put(TableProperties.DELETE_PLANNING_MODE, PlanningMode.LOCAL.modeName());
    return local;
  }

  void planned(PlanReport report) {
    this.lastPlan = report;
  }

  /**
   * Returns the report of the last scan planned through this table, else the report that the index does not cover the
   * pinned snapshot; null before either exists. A scan's own report is in its {@link PlannedScan}. Thread-safe.
   */
  public PlanReport lastPlan() {
    PlanReport last = lastPlan;
    return last != null ? last : pinned.stockReport().getOrElse(() -> null);
  }

  // BaseTable.writeReplace() is package-private and therefore not inherited
  Object writeReplace() {
    return SerializableTable.copyOf(this);
  }
}
