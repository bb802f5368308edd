// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.load

import java.nio.file.Path

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.iceberg.{DataFile, PartitionSpec}
import org.apache.iceberg.catalog.TableIdentifier
import org.apache.iceberg.hadoop.HadoopCatalog
import org.apache.spark.sql.{Row, SparkSession}

/**
 * Tables that all list the same data files, so a query has the same rows in each, and their indexes.
 *
 * @param files data files of a table
 */
final class LoadTables(spark: SparkSession, warehouse: Path, val count: Int, val files: Int) {
  private val rows = files.toLong * LoadTables.RowsAFile

  def name(table: Int): String = s"lake.db.t$table"

  /** Writes the data files once, commits them to all tables, and builds all indexes. */
  def create(): Unit = {
    spark
      .range(0, rows, 1, files)
      .selectExpr(
        "id",
        "timestamp_seconds(1767225600 + id) AS ts",
        "CAST(id % 97 AS INT) AS device",
        "CAST(id * 7919 % 100003 AS DOUBLE) AS value",
        "concat('name-', lpad(id, 9, '0')) AS name"
      )
      .writeTo(name(0))
      .create()
    Using.resource(new HadoopCatalog(new Configuration, warehouse.toString)) { catalog =>
      val first = catalog.loadTable(TableIdentifier.of("db", "t0"))
      val written = Using.resource(first.newScan().includeColumnStats().planFiles()) { tasks =>
        tasks.asScala.map(_.file().copy(): DataFile).toList
      }
      (1 until count).foreach { table =>
        val append = catalog
          .createTable(TableIdentifier.of("db", s"t$table"), first.schema(), PartitionSpec.unpartitioned())
          .newAppend()
        written.foreach(append.appendFile)
        append.commit()
      }
    }
    (0 until count).foreach(table => spark.sql(s"CALL zonemap.system.build_index(table => '${name(table)}')").collect())
  }

  /** The texts of the queries, each with `%s` for the table. */
  val queries: IndexedSeq[String] = (0 until LoadTables.Queries).map { k =>
    val id = k * 7919L * 31 % rows
    k % 5 match {
      case 0 => s"SELECT id, value FROM %s WHERE id = $id"
      case 1 => s"SELECT id, ts, device FROM %s WHERE id BETWEEN $id AND ${id + 50}"
      case 2 => s"SELECT id, name FROM %s WHERE name >= 'name-${"%09d".format(id)}' ORDER BY name LIMIT 10"
      case 3 => s"SELECT count(*), min(id), max(value) FROM %s WHERE id < ${id / 20 + 100}"
      case _ => s"SELECT device, count(*) FROM %s WHERE ts = timestamp_seconds(${1767225600 + id}) GROUP BY device"
    }
  }

  def text(query: Int, table: Int): String = queries(query).format(name(table))

  /** The rows of each query by Iceberg alone. */
  def expected(stock: SparkSession): IndexedSeq[Set[Row]] = queries.indices.map(stockRows(stock, _))

  private def stockRows(stock: SparkSession, query: Int): Set[Row] = stock.sql(text(query, 0)).collect().toSet
}

private object LoadTables {
  val RowsAFile = 200
  val Queries = 60
}
