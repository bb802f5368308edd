// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.procedure

import java.util.Locale

import scala.util.Try

import org.apache.spark.sql.catalyst.analysis.{ResolvedProcedure, UnresolvedProcedure}
import org.apache.spark.sql.catalyst.plans.logical.{Call, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.{Identifier, ProcedureCatalog}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import zonemap.spark.ZoneMapCatalog

/**
 * Resolves `CALL zonemap.system.<name>`, whatever the case of the name of the catalog.
 *
 * The rule runs in the analyzer's hint batch, before Spark resolves the catalog; Spark does binding, coercion and
 * execution. A call of an unknown procedure fails here with the names of all procedures, and a call of one of ours in a
 * catalog that lacks it with the name of our catalog. In sessions with Hive support
 * Spark does not run the hint rules of extensions. Spark then finds [[ZoneMapCatalog]] by its conf, whose name has a
 * case.
 */
private[zonemap] object ProcedureRule extends Rule[LogicalPlan] {
  private lazy val catalog = {
    val catalog = new ZoneMapCatalog
    catalog.initialize(ZoneMapCatalog.DefaultName, CaseInsensitiveStringMap.empty())
    catalog
  }

  override def apply(plan: LogicalPlan): LogicalPlan =
    plan.resolveOperatorsUp {
      case call @ Call(UnresolvedProcedure(Seq(name, namespace, procedure)), _, _)
          if name.equalsIgnoreCase(ZoneMapCatalog.DefaultName) && ZoneMapCatalog.Namespace == Seq(
            namespace.toLowerCase(Locale.ROOT)) =>
        val ident = Identifier.of(ZoneMapCatalog.Namespace.toArray, procedure)
        call.copy(procedure = ResolvedProcedure(catalog, ident, catalog.loadProcedure(ident)))
      case Call(UnresolvedProcedure(Seq(other, namespace, procedure)), _, _)
          if isOurs(Identifier.of(Array(namespace), procedure)) && !has(
            other,
            Identifier.of(Array(namespace), procedure)) =>
        val ours = s"${ZoneMapCatalog.DefaultName}.${ZoneMapCatalog.Namespace.mkString(".")}.$procedure"
        throw new IllegalArgumentException(
          s"Cannot call '$other.$namespace.$procedure': the catalog '$other' has no such procedure. Use CALL $ours.")
    }

  private def isOurs(procedure: Identifier): Boolean = ZoneMapCatalog.find(procedure).isDefined

  private def has(catalog: String, procedure: Identifier): Boolean =
    Try(SparkSession.active.sessionState.catalogManager.catalog(catalog)).toOption.exists {
      case procedures: ProcedureCatalog => Try(procedures.loadProcedure(procedure)).isSuccess
      case _                            => false
    }
}
