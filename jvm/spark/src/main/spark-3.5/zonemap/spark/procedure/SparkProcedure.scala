// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.procedure

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Cast
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.connector.iceberg.catalog.{Procedure, ProcedureParameter}
import org.apache.spark.sql.types.StructType

import zonemap.spark.MinorProcedures

/**
 * A procedure with one signature that returns local rows, as an implementation of the interface of Iceberg's extensions.
 * They pass NULL for an argument that a call leaves out, so a NULL becomes the default.
 */
private[procedure] abstract class SparkProcedure extends Procedure with MinorProcedures.Named {
  def inputs: Seq[Parameter]
  def output: StructType
  protected def rows(input: InternalRow): Array[InternalRow]

  final override def outputType(): StructType = output
  final override def parameters(): Array[ProcedureParameter] = inputs.map { parameter =>
    if (parameter.default.isEmpty) ProcedureParameter.required(parameter.name, parameter.dataType)
    else ProcedureParameter.optional(parameter.name, parameter.dataType)
  }.toArray

  final override def call(input: InternalRow): Array[InternalRow] =
    rows(InternalRow.fromSeq(inputs.indices.map { at =>
      if (input.isNullAt(at)) defaults(at) else input.get(at, inputs(at).dataType)
    }))

  private lazy val defaults: IndexedSeq[Any] = inputs.toIndexedSeq.map { parameter =>
    parameter.default.fold[Any](null) { sql =>
      Cast(CatalystSqlParser.parseExpression(sql), parameter.dataType, Some("UTC")).eval()
    }
  }
}
