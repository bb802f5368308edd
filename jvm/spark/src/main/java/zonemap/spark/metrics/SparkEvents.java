// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.metrics;

import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;

/** Access to Spark's events, written in Java because Scala code cannot access these members. */
final class SparkEvents {
  private SparkEvents() {}

  /** Returns the query whose execution has ended; null for an event that was read from an event log. */
  static QueryExecution query(SparkListenerSQLExecutionEnd event) {
    return event.qe();
  }

  /** Posts an event, which each listener gets after the events that were posted before. */
  static void post(SparkContext context, SparkListenerEvent event) {
    context.listenerBus().post(event);
  }
}
