// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.spark

import java.util.{Map => JMap}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.{Table, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import zonemap.ingest.spark.write.IngestOptions
import zonemap.spark.ZoneMapRuntime

/**
 * The sink `zonemap-ingest`: `df.writeStream.format("zonemap-ingest")...start("lake.db.events")` and
 * `df.write.format("zonemap-ingest").mode("append").save("lake.db.events")` append to the ingest queue of an Iceberg
 * table.
 *
 * Spark creates an instance for each look-up of a format, so this class refers to no type of Iceberg.
 */
final class ZoneMapIngestSource extends TableProvider with DataSourceRegister {
  import IngestOptions.Format

  override def shortName(): String = Format

  /** The table names its own columns. With external metadata, Spark does not ask for the schema first. */
  override def supportsExternalMetadata(): Boolean = true

  /** Spark asks for the schema of a table that is read. */
  override def inferSchema(options: CaseInsensitiveStringMap): StructType =
    throw new UnsupportedOperationException(
      s"Cannot read '${tableName(options)}' with format $Format: the queue takes appends only. Read the table by name.")

  override def getTable(schema: StructType, partitioning: Array[Transform], properties: JMap[String, String]): Table = {
    val name = tableName(new CaseInsensitiveStringMap(properties))
    ZoneMapRuntime.get match {
      case Right(runtime) =>
        runtime.writtenTable(SparkSession.active, Format, name).getOrElse {
          throw new IllegalStateException(
            s"Cannot write to '$name' with format $Format: zonemap started without this jar. Add zonemap-ingest-spark " +
              "to the jars with which the application starts.")
        }
      case Left(why) =>
        throw new IllegalStateException(
          s"Cannot write to '$name' with format $Format: zonemap is inactive, $why. Correct the class path, or write " +
            "with format iceberg.")
    }
  }

  private def tableName(options: CaseInsensitiveStringMap): String =
    Seq("table", "path").flatMap(key => Option(options.get(key))).distinct match {
      case Seq(name) => name
      case Seq() =>
        throw new IllegalArgumentException(
          s"Cannot write with format $Format: no table is named. Name it as catalog.namespace.table in start() or " +
            "save(), or with option 'table'.")
      case names =>
        throw new IllegalArgumentException(
          s"Cannot write with format $Format: option 'table' is '${names.head}' and the path is '${names.last}'. Name " +
            "the table once.")
    }
}
