package zonemap.benchmarks.planning

import org.apache.spark.sql.SparkSession

/** Spark on two cores of this machine, reached by nobody else. */
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

  /** With the index, and a catalog `lake` of tables in folders of `warehouse`. */
  def withLake(warehouse: String, confs: Map[String, String] = Map.empty): SparkSession =
    start(
      Map(
        "spark.sql.extensions" -> "zonemap.spark.ZoneMapExtension",
        "spark.sql.catalog.lake" -> "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type" -> "hadoop",
        "spark.sql.catalog.lake.warehouse" -> warehouse
      ) ++ confs)
}
