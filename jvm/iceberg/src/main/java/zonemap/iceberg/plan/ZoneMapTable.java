package zonemap.iceberg.plan;

import java.util.List;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.BatchScan;
import org.apache.iceberg.BatchScanAdapter;
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
  private final transient PlannerSettings settings;
  private final transient Long snapshotId;
  private final transient String baseName;
  private final transient Predicate expressions;
  private final transient List<String> notes;
  private transient volatile Resolution resolution;
  private transient volatile PlanReport lastPlan;
  private transient volatile FileSet plannedFiles;

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
    this(ops, name, name, reporter, snapshotId, settings, null, List.of());
  }

  private ZoneMapTable(
      TableOperations ops,
      String name,
      String baseName,
      MetricsReporter reporter,
      Long snapshotId,
      PlannerSettings settings,
      Predicate expressions,
      List<String> notes) {
    super(ops, name, reporter);
    this.baseName = baseName;
    this.snapshotId = snapshotId;
    this.settings = settings;
    this.expressions = expressions;
    this.notes = notes;
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
    return new ZoneMapTable(
        operations(),
        baseName + " zonemap[" + digest + "]",
        baseName,
        reporter(),
        snapshotId,
        settings,
        predicate,
        List.copyOf(notes));
  }

  /** The name without what tells scans apart. */
  public String baseName() {
    return baseName;
  }

  /** What every row of the query's result satisfies beside the scan's filter; null if nothing is known. */
  public Predicate expressions() {
    return expressions;
  }

  /** What people are told of {@link #expressions()} beside the predicate. */
  public List<String> notes() {
    return notes;
  }

  @Override
  public BatchScan newBatchScan() {
    return new BatchScanAdapter(
        new ZoneMapTableScan(
            this, schema(), ImmutableTableScanContext.builder().metricsReporter(reporter()).build()));
  }

  /**
   * Whether Spark may plan with its own distributed scan, which never asks {@link #newBatchScan()}: only while the
   * pinned snapshot is not covered.
   */
  @Override
  public boolean allowDistributedPlanning() {
    return !ScanPlanner.covers(this);
  }

  /** The snapshot the relation is pinned to; null if the table is empty. */
  Long snapshotId() {
    return snapshotId;
  }

  /** How the pinned snapshot was found in the index when Spark first asked; null before that. */
  Resolution resolution() {
    return resolution;
  }

  void resolved(Resolution found) {
    this.resolution = found;
  }

  PlannerSettings settings() {
    return settings;
  }

  void planned(PlanReport report) {
    this.lastPlan = report;
  }

  /** What became of the last scan planned through this table; null before the first. Thread-safe. */
  public PlanReport lastPlan() {
    return lastPlan;
  }

  void plannedFiles(FileSet files) {
    this.plannedFiles = files;
  }

  /**
   * The files of the last scan that was planned from the index; null before the first and once forgotten. Thread-safe.
   */
  public FileSet plannedFiles() {
    return plannedFiles;
  }

  /** Nobody may build on what this table planned so far. */
  public void forgetPlannedFiles() {
    this.plannedFiles = null;
  }

  // BaseTable's own is package-private and not inherited here
  Object writeReplace() {
    return SerializableTable.copyOf(this);
  }
}
