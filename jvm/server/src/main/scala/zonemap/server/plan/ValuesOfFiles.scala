// SPDX-License-Identifier: Apache-2.0
package zonemap.server.plan

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.iceberg.Schema
import org.apache.iceberg.expressions.{Expression, Expressions, ExpressionVisitors, Literal, NamedReference}
import org.apache.iceberg.expressions.UnboundPredicate
import org.apache.iceberg.expressions.Expression.Operation
import org.apache.iceberg.types.Type.TypeID
import org.apache.iceberg.types.Types.NestedField

import zonemap.core.predicate.{ColumnRef, ValueRanges}
import zonemap.iceberg.convert.IcebergValues
import zonemap.iceberg.prune.FileSet
import zonemap.iceberg.report.Survivable

/**
 * Shortens the lists of IN by the bounds of a file. A client takes longer to read a list that each task repeats than
 * all else of a plan. SOUNDNESS, S186. Not thread-safe.
 *
 * @param files the files that the index has planned
 * @param schema has the names that the filter uses
 */
private[plan] final class ValuesOfFiles(files: FileSet, schema: Schema, caseSensitive: Boolean) {
  import ValuesOfFiles._

  private val byColumn = mutable.HashMap.empty[Int, java.util.Map[String, ValueRanges]]

  /**
   * Returns a filter with the same result as this one for each row of the file at a location. A filter with NOT stays:
   * a client may read a list of one value as an equality, and the negations of both differ for a null.
   */
  def shortened(filter: Expression, location: String): Expression = {
    val shortening = new Shortening(location)
    val found = ExpressionVisitors.visit(filter, shortening)
    if (shortening.hasNot) filter else found
  }

  /** The ranges of a column by location; none if the index fails now, after it has planned the files. */
  private def rangesOf(column: ColumnRef): java.util.Map[String, ValueRanges] =
    byColumn.getOrElseUpdate(
      column.fieldId,
      try files.valuesByLocation(column)
      catch { case Survivable(_) => java.util.Collections.emptyMap() })

  private final class Shortening(location: String) extends ClientFilter.Replacing(schema, caseSensitive) {
    var hasNot = false

    override def not(child: Expression): Expression = {
      hasNot = true
      super.not(child)
    }

    override protected def replaced(condition: UnboundPredicate[_], field: Option[NestedField]): Expression =
      (condition.op(), condition.term(), field) match {
        case (Operation.IN, _: NamedReference[_], Some(column)) if !SeveralOrders(column.`type`().typeId()) =>
          val literals = condition.literals().asScala.toSeq.map(_.asInstanceOf[Literal[Any]])
          val left = IcebergValues.columnType(column.`type`()).fold(literals) { columnType =>
            val ref = ColumnRef(column.fieldId(), columnType, column.name())
            Option(rangesOf(ref).get(location))
              .fold(literals)(ranges => literals.filter(mayHold(ranges, column, ref, _)))
          }
          // the bounds of a file that is planned for another reason may exclude all
          if (left.isEmpty || left.sizeIs == literals.size) condition
          else Expressions.in(condition.ref().name(), left.map(_.value()).asJava)
        case _ => condition
      }

    private def mayHold(ranges: ValueRanges, field: NestedField, column: ColumnRef, literal: Literal[Any]): Boolean =
      Option(literal.to[Any](field.`type`()))
        // a literal beyond the values of the type has no value
        .flatMap(typed => Try(typed.value()).toOption)
        .flatMap(IcebergValues.encodeLiteral(column.columnType, _))
        .forall(ranges.contains(_))
  }
}

private object ValuesOfFiles {

  /** Types of which writers or readers have orders of their own. */
  private val SeveralOrders = ClientFilter.Floats + TypeID.UUID
}
