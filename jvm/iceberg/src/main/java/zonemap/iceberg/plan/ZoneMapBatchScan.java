// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.plan;

import java.util.Collection;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import org.apache.iceberg.BatchScan;
import org.apache.iceberg.BatchScanAdapter;
import org.apache.iceberg.Schema;
import org.apache.iceberg.TableScan;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.metrics.MetricsReporter;

/**
 * A batch scan of a {@link ZoneMapTable} that retains its last plan. Every refinement returns a new scan without a
 * plan.
 */
public final class ZoneMapBatchScan extends BatchScanAdapter {
  private final ZoneMapTableScan scan;

  ZoneMapBatchScan(TableScan scan) {
    super(scan);
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
}
