// SPDX-License-Identifier: Apache-2.0
package zonemap.spark

import java.util.Locale

import org.apache.spark.sql.connector.catalog.Identifier
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * The catalog of the extension's procedures: `spark.sql.catalog.zonemap=zonemap.spark.ZoneMapCatalog`.
 *
 * The catalog holds no tables and wraps no catalog. `CALL zonemap.system.<name>` works without it too, except in
 * sessions with Hive support, for which the extension sets the conf. SHOW PROCEDURES and DESCRIBE PROCEDURE need it.
 */
final class ZoneMapCatalog extends MinorProcedures.Catalog {
  private var catalogName: String = ZoneMapCatalog.DefaultName

  override def initialize(name: String, options: CaseInsensitiveStringMap): Unit = catalogName = name

  override def name(): String = catalogName

  override def loadProcedure(ident: Identifier): MinorProcedures.Procedure =
    ZoneMapCatalog.find(ident).getOrElse {
      throw new IllegalArgumentException(
        s"Cannot find procedure '$ident': ${ZoneMapCatalog.unavailable(ident.name())}. " +
          s"Known procedures: ${ZoneMapCatalog.known.map(MinorProcedures.nameOf).mkString(", ")}.")
    }

  /** Overrides the method of `ProcedureCatalog` where Spark has it: 4.1 and newer. */
  def listProcedures(namespace: Array[String]): Array[Identifier] =
    if (namespace.toSeq == ZoneMapCatalog.Namespace)
      ZoneMapCatalog.known.map(p => Identifier.of(namespace, MinorProcedures.nameOf(p))).toArray
    else Array.empty
}

private[zonemap] object ZoneMapCatalog {
  val DefaultName = "zonemap"
  val Key = s"spark.sql.catalog.$DefaultName"
  val Namespace: Seq[String] = Seq("system")

  def known: Seq[MinorProcedures.Procedure] = ZoneMapRuntime.active.toSeq.flatMap(_.procedures)

  def find(ident: Identifier): Option[MinorProcedures.Procedure] =
    if (ident.namespace().toSeq.map(_.toLowerCase(Locale.ROOT)) == Namespace)
      known.find(MinorProcedures.nameOf(_) == ident.name().toLowerCase(Locale.ROOT))
    else None

  private def unavailable(procedure: String): String =
    ZoneMapRuntime.get.fold(why => s"zonemap is inactive, $why", _ => absent(procedure.toLowerCase(Locale.ROOT)))

  private def absent(procedure: String): String =
    if (procedure.startsWith(OfIngestion) && !known.exists(MinorProcedures.nameOf(_).startsWith(OfIngestion)))
      "append ingestion has a jar of its own, zonemap-ingest-spark, which this application does not have: add it to " +
        "spark.jars, or use zonemap.configure(builder, ingest=True)"
    else if (OfInsight(procedure)) "the class path has no module zonemap-insight, which explains plans"
    else Renamed.get(procedure).fold("there is none")(name => s"its name is $name")

  private val OfIngestion = "ingest_"
  private val OfInsight = Set("why_not", "advise", "verify", "planned_scans", "clustering_information")

  /** Names of before, each with the name of today. */
  private val Renamed = Map(
    "build" -> "build_index",
    "refresh" -> "refresh_index",
    "status" -> "index_status",
    "prewarm" -> "prewarm_index",
    "merge" -> "compact_index",
    "gc" -> "collect_garbage",
    "drop" -> "drop_index",
    "history" -> "planned_scans",
    "ingest_gc" -> "ingest_collect_garbage"
  )
}
