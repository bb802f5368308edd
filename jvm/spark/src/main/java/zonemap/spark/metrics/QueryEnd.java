// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.metrics;

import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;

/**
 * Finds the query whose execution has ended. The class is written in Java because Scala code cannot access the query of
 * Spark's event.
 */
final class QueryEnd {
  private QueryEnd() {}

  /** Returns the query; null for an event that was read from an event log. */
  static QueryExecution query(SparkListenerSQLExecutionEnd event) {
    return event.qe();
  }
}
