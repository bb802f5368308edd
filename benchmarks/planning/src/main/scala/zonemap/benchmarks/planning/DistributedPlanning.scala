// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.planning

import org.apache.iceberg.{BatchScan, SparkDistributedDataScan, Table}
import org.apache.iceberg.spark.SparkReadConf
import org.apache.spark.sql.SparkSession

/** Iceberg's distributed planning, in which Spark jobs plan data and delete files. */
object DistributedPlanning {

  def session(): SparkSession =
    BenchmarkSession.start(
      Map(
        "spark.sql.iceberg.data-planning-mode" -> "distributed",
        "spark.sql.iceberg.delete-planning-mode" -> "distributed",
        SlowFileSystem.sparkConf
      ))

  def scan(spark: SparkSession, table: Table): BatchScan =
    new SparkDistributedDataScan(spark, table, new SparkReadConf(spark, table))
}
