package zonemap.spark

import java.util.Locale

import org.apache.spark.sql.connector.catalog.{Identifier, ProcedureCatalog}
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * The catalog of the extension's procedures: `spark.sql.catalog.zonemap=zonemap.spark.ZoneMapCatalog`.
 *
 * The catalog holds no tables and wraps no catalog. `CALL zonemap.system.<name>` works without it too, except in
 * sessions with Hive support, for which the extension sets the conf. SHOW PROCEDURES and DESCRIBE PROCEDURE need it.
 */
final class ZoneMapCatalog extends ProcedureCatalog {
  private var catalogName: String = ZoneMapCatalog.DefaultName

  override def initialize(name: String, options: CaseInsensitiveStringMap): Unit = catalogName = name

  override def name(): String = catalogName

  override def loadProcedure(ident: Identifier): UnboundProcedure =
    ZoneMapCatalog.find(ident).getOrElse {
      throw new IllegalArgumentException(
        s"Cannot find procedure '$ident': ${ZoneMapCatalog.unavailable}. " +
          s"Known procedures: ${ZoneMapCatalog.known.map(_.name()).mkString(", ")}.")
    }

  override def listProcedures(namespace: Array[String]): Array[Identifier] =
    if (namespace.toSeq == ZoneMapCatalog.Namespace)
      ZoneMapCatalog.known.map(p => Identifier.of(namespace, p.name())).toArray
    else Array.empty
}

private[spark] object ZoneMapCatalog {
  val DefaultName = "zonemap"
  val Key = s"spark.sql.catalog.$DefaultName"
  val Namespace: Seq[String] = Seq("system")

  def known: Seq[UnboundProcedure] = ZoneMapRuntime.active.toSeq.flatMap(_.procedures)

  def find(ident: Identifier): Option[UnboundProcedure] =
    if (ident.namespace().toSeq.map(_.toLowerCase(Locale.ROOT)) == Namespace)
      known.find(_.name() == ident.name().toLowerCase(Locale.ROOT))
    else None

  private def unavailable: String = ZoneMapRuntime.get.fold(why => s"zonemap is inactive, $why", _ => "there is none")
}
