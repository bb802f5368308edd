// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import org.apache.iceberg.Schema
import org.apache.iceberg.types.Type
import org.apache.iceberg.types.Types.NestedField
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression, GetStructField, MapKeys, MapValues}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types._

import zonemap.core.fact.FactKind
import zonemap.core.predicate.{ColumnId, ColumnRef, Evaluated, Predicate, True}
import zonemap.core.value.{ColumnType, DecimalType => ZoneDecimal, StringType => ZoneString, ZoneValue}
import zonemap.iceberg.convert.{ColumnNames, IcebergValues, JsonPath, ValuePath, VariantPath}
import zonemap.spark.expression.{CatalystCondition, ColumnResolver, ElementOf, EvaluationBudget, MapEntry, ValueAtPath}

/**
 * Resolves columns, fields of structs, elements, values of single map keys, and values at paths in JSON and variants to
 * columns of the index. It finds them by name in the schema that the relation was resolved with. Elements, values of a
 * map key and values at a path are resolved only if the index has facts of them.
 *
 * @param factsOf returns the kinds of facts that the index has of a column
 * @param canEvaluate true if the index knows enough of some files to evaluate a condition on them
 */
private[zonemap] final class SchemaColumns(
    relation: DataSourceV2Relation,
    schema: Schema,
    factsOf: ColumnId => Set[FactKind] = _ => Set.empty,
    canEvaluate: Evaluated => Boolean = _ => false)
    extends ColumnResolver {
  private val budget = new EvaluationBudget

  override def knowsTexts(column: ColumnRef): Boolean =
    factsOf(column.id).exists(kind => kind == FactKind.Values || kind == FactKind.NGrams)

  override def evaluated(condition: Expression): Predicate =
    CatalystCondition.of(condition, this, budget).filter(canEvaluate).getOrElse(True)

  override def column(expression: Expression): Option[ColumnRef] =
    expression match {
      case MapEntry(map, key)       => ofKey(map, key, expression.dataType)
      case ValueAtPath(whole, path) => ofPath(whole, path)
      case _ =>
        for {
          (field, name) <- find(expression)
          columnType <- IcebergValues.columnType(field.`type`())
          if shares(columnType, expression.dataType)
          found = ColumnRef(field.fieldId, columnType, name)
          if !expression.exists(_.isInstanceOf[ElementOf]) || factsOf(found.id).nonEmpty
        } yield found
    }

  override def keyName(map: Expression, key: ZoneValue): Option[String] =
    find(map).collect {
      case (field, _) if field.`type`().isMapType =>
        ColumnNames.of(schema, ColumnId(field.`type`().asMapType().valueId(), Some(key)))
    }

  private def ofKey(map: Expression, key: ZoneValue, dataType: DataType): Option[ColumnRef] =
    for {
      (field, _) <- find(map)
      if field.`type`().isMapType
      values = field.`type`().asMapType()
      columnType <- IcebergValues.columnType(values.valueType())
      id = ColumnId(values.valueId(), Some(key))
      if shares(columnType, dataType) && factsOf(id).nonEmpty
    } yield ColumnRef(id.fieldId, columnType, ColumnNames.of(schema, id), id.mapKey)

  private def ofPath(whole: Expression, path: ValuePath): Option[ColumnRef] =
    for {
      (field, _) <- find(whole)
      id = ColumnId(field.fieldId, Some(path.key))
      if factsOf(id).nonEmpty
    } yield {
      val columnType = path match {
        case _: JsonPath          => ZoneString
        case variant: VariantPath => variant.valueType
      }
      ColumnRef(id.fieldId, columnType, ColumnNames.of(schema, id), id.mapKey)
    }

  /** Returns the schema field of a column, of a field within a struct or of an element, and its full name. */
  private def find(expression: Expression): Option[(NestedField, String)] =
    expression match {
      case attribute: AttributeReference =>
        for {
          own <- relation.output.find(_.exprId == attribute.exprId)
          field <- Option(schema.asStruct().field(own.name))
        } yield (field, own.name)
      case GetStructField(child, ordinal, _) =>
        for {
          (parent, parentName) <- find(child)
          if parent.`type`().isStructType
          name = child.dataType.asInstanceOf[StructType](ordinal).name
          field <- Option(parent.`type`().asStructType().field(name))
        } yield (field, s"$parentName.$name")
      case ElementOf(MapKeys(map))   => within(map, _.isMapType, 0)
      case ElementOf(MapValues(map)) => within(map, _.isMapType, 1)
      case ElementOf(list)           => within(list, _.isListType, 0)
      case _                         => None
    }

  /** Returns the field of the elements of a list, or of the keys or the values of a map, and its full name. */
  private def within(container: Expression, isOfKind: Type => Boolean, ordinal: Int): Option[(NestedField, String)] =
    for {
      (parent, name) <- find(container)
      if isOfKind(parent.`type`())
      field = parent.`type`().asNestedType().fields().get(ordinal)
    } yield (field, s"$name.${field.name}")

  /** True if Spark represents and orders values of `dataType` as the index does values of `columnType`. */
  private def shares(columnType: ColumnType, dataType: DataType): Boolean =
    (columnType, dataType) match {
      case (zonemap.core.value.BooleanType, BooleanType)        => true
      case (zonemap.core.value.IntType, IntegerType)            => true
      case (zonemap.core.value.LongType, LongType)              => true
      case (zonemap.core.value.FloatType, FloatType)            => true
      case (zonemap.core.value.DoubleType, DoubleType)          => true
      case (zonemap.core.value.DateType, DateType)              => true
      case (zonemap.core.value.TimestampType, TimestampNTZType) => true
      case (zonemap.core.value.TimestampTzType, TimestampType)  => true
      case (zonemap.core.value.StringType, StringType)          => true
      case (ZoneDecimal(precision, scale), decimal: DecimalType) =>
        precision == decimal.precision && scale == decimal.scale && precision <= ZoneDecimal.MaxLongDigits
      case _ => false
    }
}
