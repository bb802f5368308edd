// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.spark.commit;

import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkConf;
import org.apache.spark.deploy.SparkHadoopUtil;

/**
 * The Hadoop configuration of a Spark application. The class is written in Java because Scala code cannot access Spark's
 * `SparkHadoopUtil`.
 */
final class HadoopConf {
  private HadoopConf() {}

  /** Returns a new configuration with the `spark.hadoop.*` confs, as a session would have it. */
  static Configuration of(SparkConf conf) {
    return SparkHadoopUtil.get().newConfiguration(conf);
  }
}
