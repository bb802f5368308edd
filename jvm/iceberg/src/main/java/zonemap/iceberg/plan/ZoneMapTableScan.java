// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.plan;

import java.util.Optional;
import org.apache.iceberg.DataTableScan;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableScan;
import org.apache.iceberg.TableScanContext;
import org.apache.iceberg.io.CloseableIterable;

import zonemap.iceberg.prune.ScanRequest;

/** A scan of a {@link ZoneMapTable}: Iceberg's own scan, but with files planned from the index. */
final class ZoneMapTableScan extends DataTableScan {
  private final ZoneMapTable zoneMapTable;
  private volatile PlannedScan planned;

  ZoneMapTableScan(ZoneMapTable table, Schema schema, TableScanContext context) {
    super(table, schema, context);
    this.zoneMapTable = table;
  }

  @Override
  protected TableScan newRefinedScan(Table table, Schema schema, TableScanContext context) {
    return new ZoneMapTableScan((ZoneMapTable) table, schema, context);
  }

  /** Returns the last plan of this scan; empty until its last task is made, and if Iceberg planned the scan. */
  Optional<PlannedScan> planned() {
    return Optional.ofNullable(planned);
  }

  void planned(PlannedScan plan) {
    this.planned = plan;
  }

  @Override
  public CloseableIterable<FileScanTask> doPlanFiles() {
    this.planned = null;
    ScanRequest request =
        new ScanRequest(
            table(),
            snapshot(),
            schema(),
            tableSchema(),
            this::specs,
            filter(),
            isCaseSensitive(),
            shouldIgnoreResiduals(),
            shouldReturnColumnStats(),
            scanMetrics());
    return ScanPlanner.planFiles(
        zoneMapTable, request, super::doPlanFiles, this::unmeasuredStockPlan, this::planned);
  }

  /** Returns Iceberg's plan by a separate scan, so that no metric is counted twice. */
  private CloseableIterable<FileScanTask> unmeasuredStockPlan() {
    return new ZoneMapTableScan(zoneMapTable, tableSchema(), context()).stockPlan();
  }

  private CloseableIterable<FileScanTask> stockPlan() {
    return super.doPlanFiles();
  }
}
