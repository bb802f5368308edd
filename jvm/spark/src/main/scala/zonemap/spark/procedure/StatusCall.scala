package zonemap.spark.procedure

import scala.util.control.NonFatal

import org.apache.iceberg.Table
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.util.quoteIfNeeded

import zonemap.iceberg.admin.{IndexStatus, KnownTable, StatusResult}
import zonemap.iceberg.settings.PlannerSettings

/** The results of one call of `status`: of a table, of the tables of a namespace, or of the tables that are known. */
private[procedure] final class StatusCall(spark: SparkSession, status: IndexStatus, settings: PlannerSettings) {
  import StatusCall._

  def results(table: Option[String], namespace: Option[String]): Seq[StatusResult] =
    (table, namespace) match {
      case (Some(name), Some(other)) =>
        throw new IllegalArgumentException(
          s"Cannot $Verb table '$name' and namespace '$other': a call shows one of them. Remove 'table' or 'namespace'.")
      case (Some(name), None) => Seq(of(name, IcebergTables.load(spark, name, Verb)))
      case (None, Some(name)) =>
        IcebergNamespaces
          .tables(spark, name, Verb)
          .map(listed => orError(listed.name)(indexable(listed.name, listed.load())))
      case (None, None) => status.known.flatMap(ofKnown)
    }

  private def of(name: String, table: Table): StatusResult =
    status.of(table, name, Option(table.currentSnapshot()), settings)

  private def indexable(name: String, table: Table): Table = {
    IcebergTables.requireIndexable(table, name, Verb)
    table
  }

  /**
   * The row of a table that another session may have loaded: the catalogs of this session decide whether it is shown.
   * There is none for a table that was dropped, or replaced by a table that this driver does not know.
   */
  private def ofKnown(known: KnownTable): Option[StatusResult] =
    try {
      val table = load(known)
      if (table.uuid() == known.uuid) Some(orError(known.name)(table))
      else {
        if (!known.exists) status.forget(known)
        None
      }
    } catch {
      case NonFatal(e) if IcebergTables.isMissing(e) && !known.exists =>
        status.forget(known)
        None
      case NonFatal(e) => Some(StatusResult.failed(known.name, messageOf(known.name, e)))
    }

  /** A table of a path has no catalog. The name of any other table is the one of its catalog, without quotes. */
  private def load(known: KnownTable): Table =
    known.reload.filter(_ => known.name.contains('/')).map(_.apply()).getOrElse {
      IcebergTables.load(spark, known.name.split('.').map(quoteIfNeeded).mkString("."), Verb)
    }

  /** The row of a table of several: an error is a row, so that the other tables are shown. */
  private def orError(name: String)(table: => Table): StatusResult =
    try of(name, table)
    catch { case NonFatal(e) => StatusResult.failed(name, messageOf(name, e)) }

  /** The message of an error as it is if it names the table or a conf of ours, else one that names the table. */
  private def messageOf(name: String, error: Throwable): String = {
    val message = Option(error.getMessage).getOrElse("")
    if (message.startsWith(s"Cannot $Verb ") || message.contains("spark.sql.zonemap.")) message
    else
      s"Cannot $Verb '$name': ${IcebergTables.firstLine(error)}. Check that the table exists and that its metadata can " +
        "be read."
  }
}

private object StatusCall {
  private val Verb = "show the status of"
}
