// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.prune

import scala.util.control.NonFatal

import org.apache.iceberg.{PartitionSpec, Schema}
import org.apache.iceberg.expressions.{Expression, Expressions, ExpressionVisitors, NamedReference, UnboundPredicate}
import org.apache.iceberg.types.Type

import zonemap.core.predicate.{ColumnRef, Predicate, True, Unknown}
import zonemap.core.value.ColumnType
import zonemap.iceberg.convert.{ColumnNames, ExpressionConverter, PartitionTuples, ValuePath}
import zonemap.iceberg.report.StockReason

/**
 * The filter of a scan, bound to one schema, with the specs bound to the same schema.
 *
 * @param filter the scan's own filter
 * @param expressions a condition that every needed row satisfies besides the filter; other rows may satisfy it too,
 *   so it never proves that all rows of a file match
 * @param limit the number of rows that the query needs, if it does not need all rows
 */
private[zonemap] final case class BoundScan(
    specs: Map[Int, PartitionSpec],
    schema: Schema,
    filter: Predicate,
    expressions: Predicate = True,
    limit: Option[LimitCut] = None) {

  /**
   * The conditions that Iceberg does not evaluate. `expressions` over-approximates the query's condition, so an Unknown
   * term is added: the conjunction then never evaluates to ALL.
   */
  val derived: Predicate =
    if (expressions == True) True else Predicate.and(expressions, Unknown("the rest of the condition"))

  /** All conditions: a file is planned only if one of its rows may satisfy them. */
  val predicate: Predicate = Predicate.and(filter, derived)

  /** The filter and the expressions, as text for messages. */
  def describe: String = Predicate.and(filter, expressions).toString
}

/**
 * Chooses the (specs, schema) pair to which a filter is bound.
 *
 * A query reads a branch with the table's current schema, but the scan has the schema of the branch's snapshot, and
 * one name can denote two columns in these schemas. A pair fits only if every name of the filter has the same field
 * id and type in it as in the schema with which the relation was resolved, and if every partition source column that the scan
 * reads has the type with which its spec was bound. If no pair fits, Iceberg plans the scan.
 */
private[zonemap] object BoundScan {

  /**
   * @param hints bound by field id in the relation's schema; conditions that do not fit the chosen schema, or what the
   *   scan reads, are ignored
   */
  def of(request: ScanRequest, hints: ScanHints = ScanHints.Empty): Either[StockReason, BoundScan] = {
    val names = referencedNames(request.filter)
    val candidates = Iterator(
      () =>
        (
          reboundWhereNeeded(PartitionTuples.specsById(request.snapshotSpecs.get()), names, request),
          request.snapshotSchema),
      () => (PartitionTuples.specsById(request.table.specs()), request.table.schema())
    )
    candidates
      .flatMap { candidate =>
        try {
          val (specs, schema) = candidate()
          Option.when(fits(request, names, specs, schema)) {
            BoundScan(
              specs,
              schema,
              ExpressionConverter.convert(request.filter, schema, request.caseSensitive),
              fitting(hints.conditions, schema, request.projection),
              hints.limit.map(limit => limit.copy(filter = proving(limit.filter, schema)))
            )
          }
        } catch { case NonFatal(_) => None }
      }
      .nextOption()
      .toRight(StockReason.SchemaMismatch)
  }

  /**
   * Iceberg's specs for a snapshot. Iceberg may bind a spec to a schema that lacks a name of the filter (the current
   * schema, after a column was renamed without a new snapshot); this method binds such a spec to the snapshot's
   * schema.
   */
  private def reboundWhereNeeded(
      specs: Map[Int, PartitionSpec],
      names: Set[String],
      request: ScanRequest): Map[Int, PartitionSpec] =
    specs.map { case (id, spec) =>
      val bindable = names.forall { name =>
        find(spec.schema(), name, request.caseSensitive) == find(request.snapshotSchema, name, request.caseSensitive)
      }
      id -> (if (bindable) spec else spec.toUnbound().bind(request.snapshotSchema, true))
    }

  private def fits(
      request: ScanRequest,
      names: Set[String],
      specs: Map[Int, PartitionSpec],
      schema: Schema): Boolean = {
    val areSame = names.forall { name =>
      val projected = find(request.projection, name, request.caseSensitive)
      val found = find(schema, name, request.caseSensitive)
      projected.isDefined && projected == found && hasOneType(projected.get, request.projection, schema)
    }
    areSame && specs.values.forall(spec => sourcesFit(spec, request.projection))
  }

  /** Whether a column has the same type in both schemas: a literal may be beyond the type before a promotion. */
  private def hasOneType(id: Int, read: Schema, schema: Schema): Boolean =
    !read.findType(id).isPrimitiveType || read.findType(id) == schema.findType(id)

  /**
   * The predicate without conditions on columns that the schema lacks, or has with a type of another order, or that the
   * scan reads under other names than the conditions have.
   */
  private[zonemap] def fitting(predicate: Predicate, schema: Schema, read: Schema): Predicate =
    Predicate.replaced(predicate, column => has(schema, column) && isReadAsNamed(read, column), True)

  /**
   * False if the scan reads another column under the name of this one: columns of the target of a command can be
   * renamed between the analysis of the command and its scan (S208).
   */
  private def isReadAsNamed(read: Schema, column: ColumnRef): Boolean =
    if (read.findField(column.fieldId) != null) ColumnNames.of(read, column.id) == column.name
    else column.mapKey.isEmpty && read.findField(column.name) == null

  /** The predicate with `Unknown` instead of conditions that do not fit the schema, so that they prove nothing. */
  private[zonemap] def proving(predicate: Predicate, schema: Schema): Predicate =
    Predicate.replaced(predicate, has(schema, _), Unknown("a column that the schema lacks"))

  /** Whether the schema has the column, with a type of the same order. */
  private[zonemap] def has(schema: Schema, column: ColumnRef): Boolean =
    Option(schema.findField(column.fieldId))
      .flatMap(field => ValuePath.typeOf(column.id, field.`type`()))
      .exists(ColumnType.comparable(_, column.columnType))

  /** Whether every source column of the spec that the scan reads has the type with which the spec was bound. */
  private def sourcesFit(spec: PartitionSpec, projection: Schema): Boolean =
    PartitionTuples.sourceIds(spec).forall { id =>
      val read: Type = projection.findType(id)
      read == null || read == spec.schema().findType(id)
    }

  private def find(schema: Schema, name: String, caseSensitive: Boolean): Option[Int] =
    Option(if (caseSensitive) schema.findField(name) else schema.caseInsensitiveFindField(name)).map(_.fieldId)

  private def referencedNames(filter: Expression): Set[String] =
    ExpressionVisitors.visit(Expressions.rewriteNot(filter), new NamesVisitor)

  private final class NamesVisitor extends ExpressionVisitors.ExpressionVisitor[Set[String]] {
    override def alwaysTrue(): Set[String] = Set.empty
    override def alwaysFalse(): Set[String] = Set.empty
    override def not(child: Set[String]): Set[String] = child
    override def and(left: Set[String], right: Set[String]): Set[String] = left ++ right
    override def or(left: Set[String], right: Set[String]): Set[String] = left ++ right
    override def predicate[T](leaf: UnboundPredicate[T]): Set[String] = Set(nameOf(leaf.ref()))
  }

  private def nameOf(reference: NamedReference[_]): String = reference.name()
}
