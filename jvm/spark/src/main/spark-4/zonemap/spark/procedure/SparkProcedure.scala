// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.procedure

import java.util.{Collections, Iterator => JIterator}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.procedures.{BoundProcedure, ProcedureParameter, UnboundProcedure}
import org.apache.spark.sql.connector.read.{LocalScan, Scan}
import org.apache.spark.sql.types.StructType

/** A procedure with one signature that returns local rows, as an implementation of Spark's interface. */
private[procedure] abstract class SparkProcedure extends UnboundProcedure with BoundProcedure {
  def inputs: Seq[Parameter]
  def output: StructType
  protected def rows(input: InternalRow): Array[InternalRow]

  final override def bind(inputType: StructType): BoundProcedure = this
  final override def parameters(): Array[ProcedureParameter] = inputs.map(toSpark).toArray
  final override def isDeterministic: Boolean = false
  final override def call(input: InternalRow): JIterator[Scan] =
    Collections.singleton[Scan](new Rows(rows(input))).iterator()

  private def toSpark(parameter: Parameter): ProcedureParameter = {
    val builder = ProcedureParameter.in(parameter.name, parameter.dataType).comment(parameter.doc)
    parameter.default.foreach(sql => builder.defaultValue(sql))
    builder.build()
  }

  private final class Rows(result: Array[InternalRow]) extends LocalScan {
    override def rows(): Array[InternalRow] = result
    override def readSchema(): StructType = output
  }
}
