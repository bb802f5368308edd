// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.table

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.iceberg.{BaseMetadataTable, BaseTable, Table}
import org.apache.iceberg.exceptions.{NoSuchNamespaceException, NoSuchTableException}
import org.apache.iceberg.spark.Spark3Util
import org.apache.spark.SparkThrowable
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.catalyst.plans.logical.View
import org.apache.spark.sql.catalyst.util.quoteIfNeeded

import zonemap.iceberg.convert.Indexable
import zonemap.spark.ErrorText
import zonemap.spark.scan.SparkMinor.ClassicSession

/** Loads the Iceberg table that an argument names. Errors name the table and a remedy. */
private[zonemap] object IcebergTables {

  /**
   * Loads the table and its current metadata.
   *
   * @param verb the action of the caller, for the message of an error
   * @throws IllegalArgumentException if there is no such table, or it is not an Iceberg table or a metadata table of one
   */
  def load(spark: SparkSession, name: String, verb: String): Table = {
    val table =
      try Spark3Util.loadIcebergTable(spark, qualified(spark, name))
      catch {
        case e: IllegalArgumentException if !isView(spark, name)                   => throw notIceberg(name, verb, e)
        case e: ClassCastException                                                 => throw notIceberg(name, verb, e)
        case NonFatal(e) if isView(spark, name) || isOfViewCatalog(spark, name, e) => throw view(name, verb, e)
        case NonFatal(e) =>
          val why = ErrorText.firstLine(e) + absentCatalog(spark, name)
          throw refused(s"Cannot $verb '$name': $why. Name an existing Iceberg table as catalog.namespace.table.", e)
      }
    if (table.isInstanceOf[BaseMetadataTable]) refuse(name, verb, "it is a metadata table", "Name the table itself")
    if (isOfOneSnapshot(table, name))
      refuse(name, verb, "it names a branch, a tag or a snapshot of a table", "Name the table itself")
    CurrentTable.of(spark, qualified(spark, name), table)
  }

  /** Whether a name that is not an Iceberg table is that of a view of this session or of Spark's catalog. */
  private def isView(spark: SparkSession, name: String): Boolean =
    Try(spark.table(name).queryExecution.analyzed).toOption.exists(_.exists(_.isInstanceOf[View]))

  /** Whether a name that its catalog has no table of is that of a view in the catalog, which Spark resolves. */
  private def isOfViewCatalog(spark: SparkSession, name: String, error: Throwable): Boolean =
    isMissing(error) && Try(spark.table(name).queryExecution.analyzed).isSuccess

  /** Whether the last part of a name selects a snapshot, which Iceberg's catalogs take for a part of the table's name. */
  private def isOfOneSnapshot(table: Table, name: String): Boolean = {
    val last = CatalystSqlParser.parseMultipartIdentifier(name).last
    Selector.matches(last) && table.name() != last && !table.name().endsWith(s".$last")
  }

  private val Selector = "(?i)(?:branch_.*|tag_.*|snapshot_id_\\d+|at_timestamp_\\d+)".r

  /** The name with its catalog: for a first part that is not a catalog, Iceberg logs a warning with a Java trace. */
  private def qualified(spark: SparkSession, name: String): String = {
    val parts = CatalystSqlParser.parseMultipartIdentifier(name)
    if (parts.size == 1) name
    else {
      val (catalog, rest) = IcebergNamespaces.resolve(spark, parts)
      (catalog +: rest).map(quoteIfNeeded).mkString(".")
    }
  }

  /** The catalog of a table, and the other parts of its name: its namespace and the name within it. */
  def parts(spark: SparkSession, name: String): (String, Seq[String]) =
    IcebergNamespaces.resolve(spark, CatalystSqlParser.parseMultipartIdentifier(name)) match {
      case (catalog, Seq(table)) =>
        val namespace = spark.asInstanceOf[ClassicSession].sessionState.catalogManager.currentNamespace
        (catalog, namespace.toSeq :+ table)
      case found => found
    }

  /** For a name of three or more parts whose first part is not a catalog, the end of a sentence that says so. */
  private def absentCatalog(spark: SparkSession, name: String): String =
    Try(CatalystSqlParser.parseMultipartIdentifier(name)).toOption
      .filter(parts => parts.size > 2 && !IcebergNamespaces.isCatalog(spark, parts.head))
      .fold("")(parts => s"; no catalog has the name '${parts.head}'")

  /**
   * The error of an argument that Spark refused. An error with a query context, such as one of the parser, is not a cause of it:
   * PySpark logs each such error of a chain with its Java trace, and the message has its sentence.
   */
  private[zonemap] def refused(message: String, cause: Throwable): IllegalArgumentException =
    cause match {
      case e: SparkThrowable if e.getQueryContext.nonEmpty => new IllegalArgumentException(message)
      case e                                               => new IllegalArgumentException(message, e)
    }

  /** Whether an error, such as one of [[load]], means that the catalog has no such table. */
  def isMissing(error: Throwable): Boolean =
    Iterator.iterate(error)(_.getCause).takeWhile(_ != null).take(MaxCauses).exists {
      case _: NoSuchTableException | _: NoSuchNamespaceException                   => true
      case _: analysis.NoSuchTableException | _: analysis.NoSuchNamespaceException => true
      case _: analysis.NoSuchDatabaseException                                     => true
      case _                                                                       => false
    }

  private val MaxCauses = 10

  /** Throws an `IllegalArgumentException` for a table that cannot be indexed. */
  def requireIndexable(table: Table, name: String, verb: String): Unit =
    table match {
      case base: BaseTable =>
        Indexable.obstacle(base).foreach {
          case Indexable.NoUuid => refuse(name, verb, "it has no uuid", "Upgrade it to format version 2")
          case Indexable.FormatVersion(version) =>
            refuse(name, verb, s"format version $version is not supported", "Use a table of format version 1 to 3")
          case Indexable.Encrypted =>
            refuse(
              name,
              verb,
              "it is encrypted and its bounds must not be copied",
              "Query it without an index: Iceberg plans its scans")
        }
      case other =>
        refuse(name, verb, s"it is a ${other.getClass.getSimpleName}", "Name the table itself")
    }

  /** The message of an error as it is if it names the table or a conf of ours, else one that names the table. */
  def messageOf(name: String, verb: String, error: Throwable): String = {
    val message = Option(error.getMessage).getOrElse("")
    if ((message.startsWith("Cannot ") && message.contains(s"'$name'")) || message.contains("spark.sql.zonemap."))
      message
    else
      s"Cannot $verb '$name': ${ErrorText.firstLine(error)}. Check that the table exists and that its metadata can be read."
  }

  private def refuse(name: String, verb: String, why: String, what: String): Nothing =
    throw new IllegalArgumentException(s"Cannot $verb '$name': $why. $what.")

  private def view(name: String, verb: String, cause: Throwable): IllegalArgumentException =
    refused(
      s"Cannot $verb '$name': it is a view. Name the Iceberg table that it reads as catalog.namespace.table.",
      cause)

  private def notIceberg(name: String, verb: String, cause: Throwable): IllegalArgumentException =
    new IllegalArgumentException(
      s"Cannot $verb '$name': it is not an Iceberg table. Name an Iceberg table as catalog.namespace.table.",
      cause)
}
