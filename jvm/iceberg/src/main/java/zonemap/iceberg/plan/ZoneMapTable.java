package zonemap.iceberg.plan;

import java.util.List;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.BatchScan;
import org.apache.iceberg.ImmutableTableScanContext;
import org.apache.iceberg.SerializableTable;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.metrics.MetricsReporter;
import zonemap.core.predicate.Predicate;

/**
 * An Iceberg table whose batch scans are planned from the zonemap index when it covers their snapshot, and by Iceberg
 * otherwise.
 *
 * <p>Only {@link #newBatchScan()} differs from the table it stands for. {@code newScan()} is Iceberg's own on purpose:
 * maintenance and metadata deletes use it. Executors never see this class: it serializes as Iceberg's serializable
 * table.
 */
public final class ZoneMapTable extends BaseTable {
  private final transient PinnedRelation pinned;
  private final transient ScanHints hints;
  private transient volatile PlanReport lastPlan;

  /**
   * @param snapshotId the snapshot the relation is pinned to, or null if the table is empty
   * @param settings the settings of the query
   */
  public ZoneMapTable(
      TableOperations ops,
      String name,
      MetricsReporter reporter,
      Long snapshotId,
      PlannerSettings settings) {
    this(
        new PinnedRelation(new BaseTable(ops, name, reporter), snapshotId, settings),
        ScanHints.Empty());
  }

  private ZoneMapTable(PinnedRelation pinned, ScanHints hints) {
    super(
        pinned.table().operations(), pinned.name() + hints.nameSuffix(), pinned.table().reporter());
    this.pinned = pinned;
    this.hints = hints;
  }

  /**
   * The same table for a query that keeps only rows for which {@code predicate} is TRUE, whatever else it asks.
   *
   * <p>Scans of it plan other files than those of this table, so its name is another: Spark and Iceberg compare names
   * to tell whether two scans are the same.
   *
   * @param predicate bound by the field ids of the schema the relation is pinned to
   * @param digest equal for two predicates only if they select the same rows
   * @param notes what people are told of the predicate beside it
   */
  public ZoneMapTable withExpressions(Predicate predicate, String digest, List<String> notes) {
    return with(hints.withExpressions(predicate, digest, List.copyOf(notes)));
  }

  /**
   * The same table for a query that wants some rows of a scan and does not care which.
   *
   * @param digest equal for two cuts only if they take the same files
   */
  public ZoneMapTable withLimit(LimitCut limit, String digest) {
    return with(hints.withLimit(limit, digest));
  }

  /**
   * The same table for a query that needs only the first rows of a sort right above its scan.
   *
   * @param bound TRUE for each of these rows, bound as the predicate of {@link #withExpressions}; our planner alone
   *     evaluates it, on what is known of files
   * @param description the bound for people
   * @param digest equal for two bounds only if they are the same
   */
  public ZoneMapTable withTopK(Predicate bound, String description, String digest) {
    return with(hints.withTopK(new FirstRows(bound, description), digest));
  }

  private ZoneMapTable with(ScanHints others) {
    return new ZoneMapTable(pinned, others);
  }

  /** The table that this one stands for, planned by Iceberg. */
  public BaseTable stock() {
    return pinned.table();
  }

  /** The name without what tells scans apart. */
  public String baseName() {
    return pinned.name();
  }

  /** The snapshot that the relation is pinned to, and its index. */
  public PinnedRelation pinned() {
    return pinned;
  }

  /** What every row of the query's result satisfies beside the scan's filter; null if nothing is known. */
  public Predicate expressions() {
    return hints.expressions().isDefined() ? hints.expressions().get() : null;
  }

  /**
   * What every row that the query needs of this relation satisfies beside the scan's filter; TRUE if nothing is known.
   * It holds of the rows that leave the sort and limit above the relation, if the bound of first rows is part of it.
   */
  public Predicate conditions() {
    return hints.conditions();
  }

  /** What is known of the query beside the scan's filter. */
  ScanHints hints() {
    return hints;
  }

  /** What people are told of {@link #expressions()} beside the predicate. */
  public List<String> notes() {
    return hints.notes();
  }

  @Override
  public BatchScan newBatchScan() {
    return new ZoneMapBatchScan(
        new ZoneMapTableScan(
            this, schema(), ImmutableTableScanContext.builder().metricsReporter(reporter()).build()));
  }

  /**
   * Whether Spark may plan with its own distributed scan, which never asks {@link #newBatchScan()}: only while the
   * pinned snapshot is not covered.
   */
  @Override
  public boolean allowDistributedPlanning() {
    return !pinned.covers();
  }

  void planned(PlanReport report) {
    this.lastPlan = report;
  }

  /**
   * The report of the last scan planned through this table, or why the index does not cover the pinned snapshot; null
   * before the first of both. A scan's own report is in its {@link PlannedScan}. Thread-safe.
   */
  public PlanReport lastPlan() {
    PlanReport last = lastPlan;
    return last != null ? last : pinned.stockReport().getOrElse(() -> null);
  }

  // BaseTable's own is package-private and not inherited here
  Object writeReplace() {
    return SerializableTable.copyOf(this);
  }
}
