// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.shadow

import java.math.BigDecimal

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{Count, Sum}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
import org.apache.spark.sql.types.DecimalType

/**
 * A digest of a multiset of rows: the number of rows, and the sum of the hashes of their compared columns. Executors
 * compute it, so the driver receives a single row.
 */
private[shadow] final case class RowDigest(rows: Long, hash: Option[BigDecimal]) {

  /** Describes the difference to `other`, the digest of a run without the index; `None` if they agree. */
  def differenceTo(other: RowDigest): Option[String] =
    if (rows != other.rows) Some(s"$rows rows, by Iceberg's plan ${other.rows}")
    else Option.when(hash != other.hash)(s"different values in $rows rows")
}

private[shadow] object RowDigest {

  /** Returns the plan that computes the digest as one row, which [[read]] decodes. */
  def planOf(compared: Comparable): LogicalPlan = {
    val columns = compared.plan.output.filter(compared.columns.contains)
    // a null does not change a hash, so an IsNull flag for each column is hashed too
    val hashed = columns ++ columns.map(IsNull(_))
    val hash = Sum(Cast(new XxHash64(if (hashed.isEmpty) Seq(Literal(0)) else hashed), DecimalType(20, 0)))
    val output = Seq(Count(Literal(1)), hash).zipWithIndex.map { case (f, i) =>
      Alias(f.toAggregateExpression(), s"digest$i")()
    }
    Aggregate(Nil, output, compared.plan)
  }

  def read(row: Row): RowDigest = RowDigest(row.getLong(0), Option(row.getDecimal(1)))
}
