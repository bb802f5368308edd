// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.planning

import org.apache.spark.sql.SparkSession

/** Local Spark sessions on two cores, which do not accept connections from other machines. */
object BenchmarkSession {

  def start(confs: Map[String, String]): SparkSession = {
    val spark = SparkSession
      .builder()
      .master("local[2]")
      .config("spark.ui.enabled", "false")
      .config("spark.driver.host", "127.0.0.1")
      .config("spark.driver.bindAddress", "127.0.0.1")
      .config(confs)
      .getOrCreate()
    spark.sparkContext.setLogLevel("WARN")
    spark
  }

  /** A session with the extension and a catalog `lake`, whose tables are folders of `warehouse`. */
  def withLake(warehouse: String, confs: Map[String, String] = Map.empty): SparkSession =
    start(
      Map(
        "spark.sql.extensions" -> "zonemap.spark.ZoneMapExtension",
        "spark.sql.catalog.lake" -> "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type" -> "hadoop",
        "spark.sql.catalog.lake.warehouse" -> warehouse
      ) ++ confs)
}
