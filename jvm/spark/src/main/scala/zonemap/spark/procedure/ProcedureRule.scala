// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.procedure

import java.util.Locale

import org.apache.spark.sql.catalyst.analysis.{ResolvedProcedure, UnresolvedProcedure}
import org.apache.spark.sql.catalyst.plans.logical.{Call, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog.Identifier
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import zonemap.spark.ZoneMapCatalog

/**
 * Resolves `CALL zonemap.system.<name>`, whatever the case of the name of the catalog.
 *
 * The rule runs in the analyzer's hint batch, before Spark resolves the catalog; Spark does binding, coercion and
 * execution. A call of an unknown procedure fails here with the names of all procedures. In sessions with Hive support
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
    }
}
