// SPDX-License-Identifier: Apache-2.0
package zonemap.spark

import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure

/** The interfaces of procedures: those of Spark itself. */
private[zonemap] object MinorProcedures {
  type Catalog = org.apache.spark.sql.connector.catalog.ProcedureCatalog
  type Procedure = UnboundProcedure

  def nameOf(procedure: Procedure): String = procedure.name()
}
