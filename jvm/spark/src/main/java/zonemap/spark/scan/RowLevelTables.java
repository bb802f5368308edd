// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan;

import org.apache.iceberg.spark.source.SparkTable;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.write.RowLevelOperation;
import org.apache.spark.sql.connector.write.RowLevelOperationInfo;
import org.apache.spark.sql.connector.write.RowLevelOperationTable;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Finds and replaces the Iceberg table that a row-level command reads and changes. The class is written in Java because
 * Scala code cannot access Spark's `RowLevelOperationTable`.
 */
public final class RowLevelTables {
  private RowLevelTables() {}

  /** Returns the Iceberg table that a row-level command changes; null for other tables. */
  public static SparkTable target(Table table) {
    return table instanceof RowLevelOperationTable command && command.table() instanceof SparkTable target
        ? target
        : null;
  }

  /**
   * Returns the table of the same command on another target, whose operation Iceberg makes anew as Spark's analyzer
   * made the first: by the command alone, without read options.
   *
   * @param table the table of a row-level command
   * @param target the target around another Iceberg table, pinned to the same state
   * @return null if Iceberg's operation would be of another kind, because the mode of the command in the properties of
   *     the table has changed since the plan was analyzed
   */
  public static Table withTarget(Table table, SparkTable target) {
    RowLevelOperation planned = ((RowLevelOperationTable) table).operation();
    RowLevelOperation.Command command = planned.command();
    RowLevelOperation operation =
        target
            .newRowLevelOperationBuilder(
                new RowLevelOperationInfo() {
                  @Override
                  public CaseInsensitiveStringMap options() {
                    return CaseInsensitiveStringMap.empty();
                  }

                  @Override
                  public RowLevelOperation.Command command() {
                    return command;
                  }
                })
            .build();
    return operation.getClass() == planned.getClass() ? new RowLevelOperationTable(target, operation) : null;
  }
}
