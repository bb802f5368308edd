package zonemap.spark.join;

import org.apache.iceberg.spark.source.SparkTable;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.write.RowLevelOperationTable;

/** What row-level commands read their target through; Java, because Spark keeps the class from Scala. */
final class RowLevelTables {
  private static final String MERGE_ON_READ = "org.apache.iceberg.spark.source.SparkPositionDeltaOperation";

  private RowLevelTables() {}

  /** The target of a command that writes deletes and reads with Iceberg's ordinary scan; null if it is no such thing. */
  static SparkTable mergeOnReadTarget(Table table) {
    if (table instanceof RowLevelOperationTable target
        && target.table() instanceof SparkTable sparkTable
        && target.operation().getClass().getName().equals(MERGE_ON_READ)) {
      return sparkTable;
    }
    return null;
  }
}
