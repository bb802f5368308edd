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
 * A batch scan of a {@link ZoneMapTable} that knows what it was planned from. Every refinement is a scan of its own, which
 * has not been planned.
 */
public final class ZoneMapBatchScan extends BatchScanAdapter {
  private final ZoneMapTableScan scan;

  ZoneMapBatchScan(TableScan scan) {
    super(scan);
    this.scan = (ZoneMapTableScan) scan;
  }

  /** The plan that was made last; empty before it is complete, and where Iceberg made it. Thread-safe. */
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
