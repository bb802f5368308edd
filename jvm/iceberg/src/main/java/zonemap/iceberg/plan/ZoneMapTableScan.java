// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.plan;

import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.Optional;
import org.apache.iceberg.DataTableScan;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableScan;
import org.apache.iceberg.TableScanContext;
import org.apache.iceberg.io.CloseableIterable;

import zonemap.iceberg.prune.ScanRequest;

/**
 * A scan of a {@link ZoneMapTable}: Iceberg's own scan, but with files planned from the index.
 *
 * <p>The context of a scan is not public in Iceberg 1.10: this class may pass it on, as parameters of Iceberg's
 * methods, and no code may name it otherwise.
 */
public final class ZoneMapTableScan extends DataTableScan {
  private static final Constructor<?> OVER = ZoneMapTableScan.class.getDeclaredConstructors()[0];
  private static final Method CONTEXT = contextOfScans();

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

  /** Returns a scan of a table with a schema, and with all else that Iceberg's own scan {@code as} asks for. */
  static ZoneMapTableScan like(TableScan as, ZoneMapTable table, Schema schema) {
    try {
      return (ZoneMapTableScan) OVER.newInstance(table, schema, CONTEXT.invoke(as));
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("Cannot scan '" + table.name() + "' as Iceberg does.", e);
    }
  }

  private static Method contextOfScans() {
    try {
      Method context = Class.forName("org.apache.iceberg.BaseScan").getDeclaredMethod("context");
      context.setAccessible(true);
      return context;
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** Returns the last plan of this scan; empty until its last task is made, and if Iceberg planned the scan. */
  public Optional<PlannedScan> planned() {
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
            this::snapshotSpecs,
            filter(),
            isCaseSensitive(),
            shouldIgnoreResiduals(),
            shouldReturnColumnStats(),
            scanMetrics());
    return ScanPlanner.planFiles(
        zoneMapTable, request, super::doPlanFiles, this::unmeasuredStockPlan, this::planned);
  }

  /** Returns the specs that Iceberg plans with: those of the table in Iceberg 1.10, later bound to the snapshot's schema. */
  private Map<Integer, PartitionSpec> snapshotSpecs() {
    try {
      return specs();
    } catch (NoSuchMethodError e) {
      return table().specs();
    }
  }

  /** Returns Iceberg's plan by a separate scan, so that no metric is counted twice. */
  private CloseableIterable<FileScanTask> unmeasuredStockPlan() {
    return like(this, zoneMapTable, tableSchema()).stockPlan();
  }

  private CloseableIterable<FileScanTask> stockPlan() {
    return super.doPlanFiles();
  }
}
