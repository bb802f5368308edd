package zonemap.spark.shadow

import java.math.BigDecimal

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{Count, Sum}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
import org.apache.spark.sql.types.{DecimalType, DoubleType}

/**
 * A multiset of rows in one row: their number, the sum of the hashes of their exact columns, and for each inexact column its
 * sum. Spark makes it where the rows are, and nothing of them comes to the driver.
 *
 * @param sums of each inexact column: of its values, of their sizes, and the rows that have none (null, NaN, infinite)
 */
private[shadow] final case class RowDigest(rows: Long, hash: Option[BigDecimal], sums: Seq[(Double, Double, Long)]) {

  /** How `other`, of a run without the index, differs. */
  def differenceTo(other: RowDigest): Option[String] =
    if (rows != other.rows) Some(s"$rows rows, by Iceberg's plan ${other.rows}")
    else if (hash != other.hash || !sums.zip(other.sums).forall { case (a, b) => RowDigest.agree(a, b) })
      Some(s"different values in $rows rows")
    else None
}

private[shadow] object RowDigest {

  /** Sums agree to nine digits of the values that are added up. */
  private val Tolerance = 1e-9

  /** A plan of one row, which [[read]] reads. */
  def planOf(compared: Comparable): LogicalPlan = {
    val exact = compared.plan.output.filter(compared.exact.contains)
    val inexact = compared.plan.output.filter(compared.inexact.contains)
    // null leaves a hash as it is, so the nulls of columns are told apart by flags
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
