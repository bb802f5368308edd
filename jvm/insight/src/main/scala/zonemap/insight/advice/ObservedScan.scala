// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.advice

import org.apache.iceberg.Schema

import zonemap.core.predicate.{ColumnRef, Predicate}
import zonemap.iceberg.answer.TopK
import zonemap.iceberg.convert.ColumnNames
import zonemap.iceberg.prune.BoundScan
import zonemap.insight.layout.ScanCondition

/**
 * The use of a table by one scan of a query, as plain values.
 *
 * @param tableUuid the table, whatever its name is now
 * @param topK the first rows that the query returns, if they are sorted by a column of the table
 * @param joinKeys columns that must equal a column of the other side of a join, and whose rows the join drops else
 * @param hindrances operators that cannot prune files of the scan
 */
private[zonemap] final case class ObservedScan(
    tableUuid: String,
    conditions: Seq[ObservedCondition],
    topK: Option[TopK],
    joinKeys: Seq[ColumnRef],
    hindrances: Seq[Hindrance]) {

  /** The columns of conditions, of first rows and of join keys. */
  val columns: Seq[ColumnRef] =
    conditions.flatMap(c => Predicate.columns(c.condition.predicate)) ++ topK.map(_.column) ++ joinKeys

  /** Whether a schema has these columns, under the same names and with types of the same order. */
  def fits(schema: Schema): Boolean =
    columns.forall(column => BoundScan.has(schema, column) && ColumnNames.of(schema, column.id) == column.name)

  /** The conditions that the index evaluates. */
  val used: Seq[ScanCondition] = conditions.filter(_.hindrance.isEmpty).map(_.condition)

  /** Scans with equal keys need the same of the table. */
  val key: Seq[String] =
    conditions.map(_.text) ++ topK.map(k => s"top ${k.column.name} ${k.descending} ${k.rows}") ++
      joinKeys.map(c => s"key ${c.name}") ++ hindrances.map(_.message)
}

/**
 * A condition of a scan.
 *
 * @param condition what the index evaluates; what facts could evaluate, if there is a hindrance
 * @param hindrance the reason why the index does not evaluate the condition
 */
private[zonemap] final case class ObservedCondition(
    text: String,
    condition: ScanCondition,
    hindrance: Option[Hindrance])

/** A reason of one of the catalogues, why a condition or an operator prunes no file. */
private[zonemap] final case class Hindrance(subject: String, code: String, message: String, remedy: String)
