package zonemap.iceberg.plan;

import org.apache.iceberg.DataTableScan;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableScan;
import org.apache.iceberg.TableScanContext;
import org.apache.iceberg.io.CloseableIterable;

/** A scan of a {@link ZoneMapTable}: Iceberg's own scan, but with files planned from the index. */
final class ZoneMapTableScan extends DataTableScan {
  private final ZoneMapTable zoneMapTable;

  ZoneMapTableScan(ZoneMapTable table, Schema schema, TableScanContext context) {
    super(table, schema, context);
    this.zoneMapTable = table;
  }

  @Override
  protected TableScan newRefinedScan(Table table, Schema schema, TableScanContext context) {
    return new ZoneMapTableScan((ZoneMapTable) table, schema, context);
  }

  @Override
  public CloseableIterable<FileScanTask> doPlanFiles() {
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
    return ScanPlanner.planFiles(zoneMapTable, request, super::doPlanFiles, this::unmeasuredStockPlan);
  }

  /** Returns Iceberg's plan by a separate scan, so that no metric is counted twice. */
  private CloseableIterable<FileScanTask> unmeasuredStockPlan() {
    return new ZoneMapTableScan(zoneMapTable, tableSchema(), context()).stockPlan();
  }

  private CloseableIterable<FileScanTask> stockPlan() {
    return super.doPlanFiles();
  }
}
