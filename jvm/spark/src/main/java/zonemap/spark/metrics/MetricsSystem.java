// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.metrics;

import com.codahale.metrics.MetricRegistry;
import org.apache.spark.SecurityManager;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.metrics.source.Source;
import org.apache.spark.ui.JettyUtils;
import org.apache.spark.ui.ServerInfo;
import org.sparkproject.jetty.servlet.ServletContextHandler;
import scala.Option;

/**
 * Spark's metrics system. The class is written in Java because Scala code cannot access Spark's `MetricsSystem` and
 * `Source`; for the same reason, no signature names them.
 */
public final class MetricsSystem {
  private static final String ANY_ADDRESS = "0.0.0.0";
  private static final int UI_PORT = 4040;
  private static final int SERVER_THREADS = 8;

  private MetricsSystem() {}

  /** Adds metrics to the running Spark application, under a name; does nothing if no application is running. */
  static void register(String name, MetricRegistry metrics) {
    SparkEnv environment = SparkEnv.get();
    if (environment == null || environment.metricsSystem() == null) {
      return;
    }
    environment.metricsSystem().registerSource(source(name, metrics));
  }

  /** Ends the sinks that {@link #start} has started. */
  public interface Sinks extends AutoCloseable {
    @Override
    void close();
  }

  /**
   * Shows metrics of a process without a Spark application in the sinks that its confs name. The Prometheus servlet has
   * the address of Spark's UI, and no server runs without it.
   *
   * @param conf has the confs `spark.app.id` and `spark.executor.id`, which begin the name of each metric
   */
  public static Sinks start(SparkConf conf, String name, MetricRegistry metrics) {
    org.apache.spark.metrics.MetricsSystem system =
        org.apache.spark.metrics.MetricsSystem.createMetricsSystem("driver", conf);
    system.registerSource(source(name, metrics));
    system.start(false);
    ServletContextHandler[] pages = system.getServletHandlers();
    // the first one, of metrics as JSON, is always there
    ServerInfo server = pages.length > 1 && conf.getBoolean("spark.ui.enabled", true) ? serve(conf, pages) : null;
    return () -> {
      if (server != null) {
        server.stop();
      }
      system.stop();
    };
  }

  private static ServerInfo serve(SparkConf conf, ServletContextHandler[] pages) {
    SecurityManager security =
        new SecurityManager(
            conf, Option.empty(), org.apache.spark.internal.config.package$.MODULE$.AUTH_SECRET_FILE());
    String address = System.getenv().getOrDefault("SPARK_LOCAL_IP", ANY_ADDRESS);
    int port = conf.getInt("spark.ui.port", UI_PORT);
    ServerInfo server =
        JettyUtils.startJettyServer(address, port, security.getSSLOptions("ui"), conf, "zonemap", SERVER_THREADS);
    for (ServletContextHandler page : pages) {
      server.addHandler(page, security);
    }
    return server;
  }

  private static Source source(String name, MetricRegistry metrics) {
    return new Source() {
      @Override
      public String sourceName() {
        return name;
      }

      @Override
      public MetricRegistry metricRegistry() {
        return metrics;
      }
    };
  }
}
