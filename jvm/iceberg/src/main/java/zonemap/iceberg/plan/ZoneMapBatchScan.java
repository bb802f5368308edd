// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.plan;

import java.util.Collection;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.function.Supplier;
import org.apache.iceberg.BatchScan;
import org.apache.iceberg.ScanTask;
import org.apache.iceberg.ScanTaskGroup;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableScan;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.metrics.MetricsReporter;

/**
 * A batch scan of a {@link ZoneMapTable} that retains its last plan. Every refinement returns a new scan without a
 * plan. Iceberg's own adapter, which it is like, is not public in Iceberg 1.10.
 */
public final class ZoneMapBatchScan implements BatchScan {
  private final ZoneMapTableScan scan;

  ZoneMapBatchScan(TableScan scan) {
    this.scan = (ZoneMapTableScan) scan;
  }

  /** Returns the last plan; empty until its last task is made, and if Iceberg planned the scan. Thread-safe. */
  public Optional<PlannedScan> planned() {
    return scan.planned();
  }

  @Override
  public BatchScan useSnapshot(long snapshotId) {
    return new ZoneMapBatchScan(scan.useSnapshot(snapshotId));
  }

  @Override
  public BatchScan useRef(String ref) {
    return new ZoneMapBatchScan(scan.useRef(ref));
  }

  @Override
  public BatchScan asOfTime(long timestampMillis) {
    return new ZoneMapBatchScan(scan.asOfTime(timestampMillis));
  }

  @Override
  public BatchScan option(String property, String value) {
    return new ZoneMapBatchScan(scan.option(property, value));
  }

  @Override
  public BatchScan project(Schema schema) {
    return new ZoneMapBatchScan(scan.project(schema));
  }

  @Override
  public BatchScan caseSensitive(boolean caseSensitive) {
    return new ZoneMapBatchScan(scan.caseSensitive(caseSensitive));
  }

  @Override
  public BatchScan includeColumnStats() {
    return new ZoneMapBatchScan(scan.includeColumnStats());
  }

  @Override
  public BatchScan includeColumnStats(Collection<String> columns) {
    return new ZoneMapBatchScan(scan.includeColumnStats(columns));
  }

  @Override
  public BatchScan select(Collection<String> columns) {
    return new ZoneMapBatchScan(scan.select(columns));
  }

  @Override
  public BatchScan filter(Expression expression) {
    return new ZoneMapBatchScan(scan.filter(expression));
  }

  @Override
  public BatchScan ignoreResiduals() {
    return new ZoneMapBatchScan(scan.ignoreResiduals());
  }

  @Override
  public BatchScan planWith(ExecutorService executor) {
    return new ZoneMapBatchScan(scan.planWith(executor));
  }

  @Override
  public BatchScan metricsReporter(MetricsReporter reporter) {
    return new ZoneMapBatchScan(scan.metricsReporter(reporter));
  }

  @Override
  public BatchScan minRowsRequested(long rows) {
    return new ZoneMapBatchScan(scan.minRowsRequested(rows));
  }

  @Override
  public Table table() {
    return scan.table();
  }

  @Override
  public Supplier<FileIO> fileIO() {
    return scan.fileIO();
  }

  @Override
  public Snapshot snapshot() {
    return scan.snapshot();
  }

  @Override
  public boolean isCaseSensitive() {
    return scan.isCaseSensitive();
  }

  @Override
  public Expression filter() {
    return scan.filter();
  }

  @Override
  public Schema schema() {
    return scan.schema();
  }

  @Override
  @SuppressWarnings("unchecked") // a task of files is a task
  public CloseableIterable<ScanTask> planFiles() {
    return (CloseableIterable<ScanTask>) (CloseableIterable<?>) scan.planFiles();
  }

  @Override
  @SuppressWarnings("unchecked") // a group of tasks of files is a group of tasks
  public CloseableIterable<ScanTaskGroup<ScanTask>> planTasks() {
    return (CloseableIterable<ScanTaskGroup<ScanTask>>) (CloseableIterable<?>) scan.planTasks();
  }

  @Override
  public long targetSplitSize() {
    return scan.targetSplitSize();
  }

  @Override
  public int splitLookback() {
    return scan.splitLookback();
  }

  @Override
  public long splitOpenFileCost() {
    return scan.splitOpenFileCost();
  }
}
