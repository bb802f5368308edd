// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.procedure

import org.apache.spark.sql.types.{DataType, StructType}

/**
 * A non-null column of a procedure's rows; `value` computes it from a result of type `A`.
 *
 * @param doc its meaning: the comment of the column, and its row in the reference page
 */
private[zonemap] final case class ResultColumn[A](name: String, dataType: DataType, doc: String, value: A => Any)

private[zonemap] object ResultColumn {

  def schema(columns: Seq[ResultColumn[_]]): StructType =
    columns.foldLeft(new StructType)((schema, column) =>
      schema.add(column.name, column.dataType, nullable = false, column.doc))

  def row[A](columns: Seq[ResultColumn[A]], result: A): Seq[Any] = columns.map(_.value(result))
}
