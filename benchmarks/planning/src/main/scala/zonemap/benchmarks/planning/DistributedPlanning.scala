package zonemap.benchmarks.planning

import org.apache.iceberg.{BatchScan, SparkDistributedDataScan, Table}
import org.apache.iceberg.spark.SparkReadConf
import org.apache.spark.sql.SparkSession

/** Iceberg's planning of data and delete files by Spark jobs. */
object DistributedPlanning {

  def session(): SparkSession = {
    val spark = SparkSession
      .builder()
      .master("local[2]")
      .config("spark.ui.enabled", "false")
      .config("spark.driver.host", "127.0.0.1")
      .config("spark.driver.bindAddress", "127.0.0.1")
      .config("spark.sql.iceberg.data-planning-mode", "distributed")
      .config("spark.sql.iceberg.delete-planning-mode", "distributed")
      .getOrCreate()
    spark.sparkContext.setLogLevel("WARN")
    spark
  }

  def scan(spark: SparkSession, table: Table): BatchScan =
    new SparkDistributedDataScan(spark, table, new SparkReadConf(spark, table))
}
