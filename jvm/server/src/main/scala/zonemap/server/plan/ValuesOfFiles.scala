// SPDX-License-Identifier: Apache-2.0
package zonemap.server.plan

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.iceberg.Schema
import org.apache.iceberg.expressions.{Expression, Expressions, ExpressionVisitors, Literal, NamedReference}
import org.apache.iceberg.expressions.UnboundPredicate
import org.apache.iceberg.expressions.Expression.Operation
import org.apache.iceberg.types.Types.NestedField

import zonemap.core.predicate.{ColumnRef, ValueRanges}
import zonemap.iceberg.convert.IcebergValues
import zonemap.iceberg.prune.FileSet

/**
 * Shortens the lists of IN by the bounds of a file. A client takes longer to read a list that each task repeats than
 * all else of a plan. SOUNDNESS, S186. Not thread-safe.
 *
 * @param files the files that the index has planned
 * @param schema has the names that the filter uses
 */
private[plan] final class ValuesOfFiles(files: FileSet, schema: Schema, caseSensitive: Boolean) {
  private val byColumn = mutable.HashMap.empty[Int, java.util.Map[String, ValueRanges]]

  /** Returns a filter with the same result as this one for each row of the file at a location. */
  def shortened(filter: Expression, location: String): Expression =
    ExpressionVisitors.visit(filter, new Shortening(location))

  private final class Shortening(location: String) extends ClientFilter.Replacing(schema, caseSensitive) {

    override protected def replaced(condition: UnboundPredicate[_], field: Option[NestedField]): Expression =
      (condition.op(), condition.term(), field) match {
        case (Operation.IN, _: NamedReference[_], Some(column)) if !ClientFilter.Floats(column.`type`().typeId()) =>
          val literals = condition.literals().asScala.toSeq.map(_.asInstanceOf[Literal[Any]])
          val left = IcebergValues.columnType(column.`type`()).fold(literals) { columnType =>
            val ref = ColumnRef(column.fieldId(), columnType, column.name())
            Option(byColumn.getOrElseUpdate(column.fieldId(), files.valuesByLocation(ref)).get(location))
              .fold(literals)(ranges => literals.filter(mayHold(ranges, column, ref, _)))
          }
          // the bounds of a file that is planned for another reason may exclude all
          if (left.isEmpty || left.sizeIs == literals.size) condition
          else Expressions.in(condition.ref().name(), left.map(_.value()).asJava)
        case _ => condition
      }

    private def mayHold(ranges: ValueRanges, field: NestedField, column: ColumnRef, literal: Literal[Any]): Boolean =
      Option(literal.to[Any](field.`type`()))
        .flatMap(typed => IcebergValues.encodeLiteral(column.columnType, typed.value()))
        .forall(ranges.contains(_))
  }
}
