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
import zonemap.iceberg.store.StoreBudget;
import zonemap.iceberg.upkeep.UpkeepProcess;

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
  private final transient ScanHints hints;
  private final transient StoreBudget storeBudget;
  private final transient UpkeepProcess process;
  private transient volatile Resolution resolution;
  private transient volatile PlanReport lastPlan;
  private transient volatile FileSet plannedFiles;
  private transient volatile AggregateReason notAnswered;

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
        ops,
        name,
        reporter,
        snapshotId,
        settings,
        ScanHints.Empty(),
        new StoreBudget(settings.maxStoreWaitMillis(), process.index().access().requests()),
        process);
  }

  private ZoneMapTable(
      TableOperations ops,
      String baseName,
      MetricsReporter reporter,
      Long snapshotId,
      PlannerSettings settings,
      ScanHints hints,
      StoreBudget storeBudget,
      UpkeepProcess process) {
    super(ops, baseName + hints.nameSuffix(), reporter);
    this.baseName = baseName;
    this.snapshotId = snapshotId;
    this.settings = settings;
    this.hints = hints;
    this.storeBudget = storeBudget;
    this.process = process;
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

  /** What is known of the pinned snapshot goes along: the copy is the same relation. */
  private ZoneMapTable with(ScanHints others) {
    ZoneMapTable copy =
        new ZoneMapTable(
            operations(), baseName, reporter(), snapshotId, settings, others, storeBudget, process);
    copy.resolution = resolution;
    copy.lastPlan = lastPlan;
    return copy;
  }

  /** The table that this one stands for, planned by Iceberg. */
  public BaseTable stock() {
    return new BaseTable(operations(), baseName, reporter());
  }

  /** The name without what tells scans apart. */
  public String baseName() {
    return baseName;
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

  /** Holds the index that scans are planned from. */
  UpkeepProcess process() {
    return process;
  }

  /** What all plans of this relation together may wait for the store. */
  StoreBudget storeBudget() {
    return storeBudget;
  }

  void planned(PlanReport report) {
    this.lastPlan = report;
    this.notAnswered = null;
  }

  /** Why aggregates over the last scan were not answered from the index; null if they were, or if there are none. */
  public AggregateReason notAnswered() {
    return notAnswered;
  }

  public void notAnswered(AggregateReason reason) {
    this.notAnswered = reason;
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
