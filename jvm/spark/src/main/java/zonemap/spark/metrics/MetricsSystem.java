package zonemap.spark.metrics;

import com.codahale.metrics.MetricRegistry;
import org.apache.spark.SparkEnv;
import org.apache.spark.metrics.source.Source;

/**
 * Spark's metrics system. The class is written in Java because Scala code cannot access Spark's `MetricsSystem` and
 * `Source`; for the same reason, no signature names them.
 */
final class MetricsSystem {
  private MetricsSystem() {}

  /** Adds metrics to the running Spark application, under a name; does nothing if no application is running. */
  static void register(String name, MetricRegistry metrics) {
    SparkEnv environment = SparkEnv.get();
    if (environment == null || environment.metricsSystem() == null) {
      return;
    }
    Source source =
        new Source() {
          @Override
          public String sourceName() {
            return name;
          }

          @Override
          public MetricRegistry metricRegistry() {
            return metrics;
          }
        };
    environment.metricsSystem().registerSource(source);
  }
}
