package zonemap.spark.shadow

import java.math.BigDecimal

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{Count, Sum}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
import org.apache.spark.sql.types.{DecimalType, DoubleType}

/**
 * A digest of a multiset of rows: the number of rows, the sum of the hashes of their exact columns, and the sum of each
 * inexact column. Executors compute it, so the driver receives a single row.
 *
 * @param sums for each inexact column: the sum of its values, the sum of their absolute values, and the number of rows
 *   without a finite value (null, NaN, infinite)
 */
private[shadow] final case class RowDigest(rows: Long, hash: Option[BigDecimal], sums: Seq[(Double, Double, Long)]) {

  /** Describes the difference to `other`, the digest of a run without the index; `None` if they agree. */
  def differenceTo(other: RowDigest): Option[String] =
    if (rows != other.rows) Some(s"$rows rows, by Iceberg's plan ${other.rows}")
    else if (hash != other.hash || !sums.zip(other.sums).forall { case (a, b) => RowDigest.agree(a, b) })
      Some(s"different values in $rows rows")
    else None
}

private[shadow] object RowDigest {

  /** Two sums agree if their difference is at most this share of the sum of the absolute values. */
  private val Tolerance = 1e-9

  /** Returns the plan that computes the digest as one row, which [[read]] decodes. */
  def planOf(compared: Comparable): LogicalPlan = {
    val exact = compared.plan.output.filter(compared.exact.contains)
    val inexact = compared.plan.output.filter(compared.inexact.contains)
    // a null does not change a hash, so an IsNull flag for each column is hashed too
    val hashed = exact ++ exact.map(IsNull(_))
    val hash = Sum(Cast(new XxHash64(if (hashed.isEmpty) Seq(Literal(0)) else hashed), DecimalType(20, 0)))
    val functions = Count(Literal(1)) +: hash +: inexact.flatMap { column =>
      val value = Cast(column, DoubleType)
      val finite = LessThan(Abs(value, failOnError = false), Literal(Double.PositiveInfinity))
      val known = Coalesce(Seq(finite, Literal(false)))
      Seq(
        Sum(If(known, value, Literal(0.0))),
        Sum(If(known, Abs(value, failOnError = false), Literal(0.0))),
        Sum(If(known, Literal(0L), Literal(1L))))
    }
    val output = functions.zipWithIndex.map { case (f, i) => Alias(f.toAggregateExpression(), s"digest$i")() }
    Aggregate(Nil, output, compared.plan)
  }

  def read(row: Row): RowDigest =
    RowDigest(
      row.getLong(0),
      Option(row.getDecimal(1)),
      (2 until row.length by 3).map { i =>
        if (row.isNullAt(i)) (0.0, 0.0, 0L) else (row.getDouble(i), row.getDouble(i + 1), row.getLong(i + 2))
      }
    )

  private def agree(a: (Double, Double, Long), b: (Double, Double, Long)): Boolean =
    a._3 == b._3 && math.abs(a._1 - b._1) <= Tolerance * math.max(a._2, b._2)
}
