// SPDX-License-Identifier: Apache-2.0
package zonemap.spark

/** The interfaces of procedures: those of Iceberg's extensions of Spark 3.5, whose procedures have no names. */
private[zonemap] object MinorProcedures {
  type Catalog = org.apache.spark.sql.connector.iceberg.catalog.ProcedureCatalog
  type Procedure = org.apache.spark.sql.connector.iceberg.catalog.Procedure

  def nameOf(procedure: Procedure): String = procedure match {
    case named: Named => named.name()
    case other        => throw new IllegalArgumentException(s"$other has no name")
  }

  /** A procedure of ours. */
  trait Named {
    def name(): String
  }
}
