// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan;

import org.apache.iceberg.spark.source.SparkTable;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.write.RowLevelOperationTable;

/**
 * Finds the Iceberg table that a row-level command reads. The class is written in Java because Scala code cannot access
 * Spark's `RowLevelOperationTable`.
 */
public final class RowLevelTables {
  private static final String MERGE_ON_READ = "org.apache.iceberg.spark.source.SparkPositionDeltaOperation";

  private RowLevelTables() {}

  /** Returns the Iceberg table that a row-level command changes; null for other tables. */
  public static SparkTable target(Table table) {
    return table instanceof RowLevelOperationTable target && target.table() instanceof SparkTable sparkTable
        ? sparkTable
        : null;
  }

  /** Returns the target of a merge-on-read command, which Iceberg's ordinary scan reads; null for other tables. */
  public static SparkTable mergeOnReadTarget(Table table) {
    if (table instanceof RowLevelOperationTable target
        && target.table() instanceof SparkTable sparkTable
        && target.operation().getClass().getName().equals(MERGE_ON_READ)) {
      return sparkTable;
    }
    return null;
  }
}
