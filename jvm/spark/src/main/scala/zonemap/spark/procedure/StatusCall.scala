// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.procedure

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.iceberg.Table
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.util.quoteIfNeeded

import zonemap.iceberg.admin.{IndexStatus, KnownTable, StatusResult}
import zonemap.iceberg.settings.PlannerSettings
import zonemap.spark.table.{IcebergNamespaces, IcebergTables}

/** The results of one call of `status`: of a table, of the tables of a namespace, or of the tables that are known. */
private[procedure] final class StatusCall(spark: SparkSession, status: IndexStatus, settings: PlannerSettings) {
  import StatusCall._

  def results(table: Option[String], namespace: Option[String]): Seq[StatusResult] =
    (table, namespace) match {
      case (Some(name), Some(other)) =>
        throw new IllegalArgumentException(
          s"Cannot $Verb table '$name' and namespace '$other': a call shows one of them. Remove 'table' or 'namespace'.")
      case (Some(name), None) => Seq(of(name, indexable(name, IcebergTables.load(spark, name, Verb))))
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
      else if (known.exists) ofOtherParts(known)
      else forget(known)
    } catch {
      case NonFatal(e) if IcebergTables.isMissing(e) && !known.exists => forget(known)
      case NonFatal(e) =>
        ofOtherParts(known).orElse(Some(StatusResult.failed(known.name, IcebergTables.messageOf(known.name, Verb, e))))
    }

  private def forget(known: KnownTable): Option[StatusResult] = {
    status.forget(known)
    None
  }

  /** A table of a path has no catalog. The name of any other table is the one of its catalog, without quotes. */
  private def load(known: KnownTable): Table =
    known.reload.filter(_ => known.name.contains('/')).map(_.apply()).getOrElse {
      IcebergTables.load(spark, quoted(known.name.split('.').toSeq), Verb)
    }

  /** The row of a table if a part of its name has a dot; the row has the name with quotes. O(names) loads. */
  private def ofOtherParts(known: KnownTable): Option[StatusResult] =
    if (known.name.contains('/')) None
    else
      otherParts(known.name)
        .flatMap { name =>
          val found = Try(IcebergTables.load(spark, name, Verb)).toOption.filter(_.uuid() == known.uuid)
          found.map(table => orError(name)(table))
        }
        .nextOption()

  /** The row of a table of several: an error is a row, so that the other tables are shown. */
  private def orError(name: String)(table: => Table): StatusResult =
    try of(name, table)
    catch { case NonFatal(e) => StatusResult.failed(name, IcebergTables.messageOf(name, Verb, e)) }
}

private object StatusCall {
  private val Verb = "show the status of"

  /** A bound of the loads for one table: a name of seven parts has this many. */
  private val MaxNames = 32

  private def quoted(parts: Seq[String]): String = parts.map(quoteIfNeeded).mkString(".")

  /** The names with quotes that have the text `name` without quotes, and a dot in some part after the catalog. */
  private def otherParts(name: String): Iterator[String] = {
    def split(pieces: List[String]): Iterator[List[String]] =
      (pieces.size to 1 by -1).iterator.flatMap { rest =>
        val (part, after) = pieces.splitAt(pieces.size - rest + 1)
        val first = part.mkString(".")
        if (after.isEmpty) Iterator(List(first)) else split(after).map(first :: _)
      }
    name.split('.').toList match {
      case catalog :: pieces if pieces.size > 1 =>
        split(pieces).filter(_.size < pieces.size).take(MaxNames).map(parts => quoted(catalog +: parts))
      case _ => Iterator.empty
    }
  }
}
