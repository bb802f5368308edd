package zonemap.spark.rule

import java.nio.charset.StandardCharsets
import java.security.MessageDigest
import java.util.HexFormat

import org.apache.iceberg.Schema
import org.apache.iceberg.types.Types.NestedField
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types._

import zonemap.core.fact.FactKind
import zonemap.core.predicate.{ColumnId, ColumnRef, Predicate, True}
import zonemap.core.value.{ColumnType, DecimalType => ZoneDecimal, ZoneValue}
import zonemap.iceberg.convert.{ColumnNames, IcebergValues}
import zonemap.iceberg.plan.IndexQuestions
import zonemap.spark.expression.{CatalystCondition, ColumnResolver, ExpressionTranslator, MapEntry}
import zonemap.spark.join.ZoneMapRelation

/**
 * Hands the conditions that Iceberg cannot take (functions of a column, mostly) to our planner, as ranges of columns.
 *
 * It looks at filters right above a swapped relation, after the optimizer has pushed them there. Each conjunct is
 * translated by itself: one that says nothing spoils nothing. The filter stays where it is, so Spark still checks every
 * row; and what decides which files are planned becomes part of the table's name, which Spark and Iceberg compare
 * wherever they share or reuse scans. See ADR 5.
 */
private[spark] object ExpressionRule extends Rule[LogicalPlan] with PredicateHelper {

  /** The key of the predicate's digest among a relation's options. */
  val Marker = "zonemap.expressions"

  override def apply(plan: LogicalPlan): LogicalPlan =
    plan.transformWithSubqueries {
      case filter @ Filter(condition, ZoneMapRelation(found))
          if !found.isMarked(Marker) && found.conf.exists(_.expressions) =>
        attach(found, condition).fold[LogicalPlan](filter)(r => filter.copy(child = r))
    }

  private def attach(found: ZoneMapRelation, condition: Expression): Option[DataSourceV2Relation] =
    Guarded.orNothing(s"pruning by functions in a filter on ${found.sparkTable.name()}") {
      val table = found.table
      val predicate =
        translate(
          found.relation,
          found.schema,
          condition,
          IndexQuestions.factsOf(table, _),
          IndexQuestions.canEvaluate(table, _))
      Option.when(predicate != True)(carry(found, predicate, table.notes()))
    }

  /** The relation for a query that keeps only rows for which `predicate` is TRUE. */
  private[spark] def carry(
      found: ZoneMapRelation,
      predicate: Predicate,
      notes: java.util.List[String]): DataSourceV2Relation = {
    val digest = digestOf(Predicate.canonical(predicate))
    found.over(found.table.withExpressions(predicate, digest, notes), Marker, digest)
  }

  /** At least the rows for which the condition is TRUE, whatever it is made of. */
  private[spark] def translateAll(relation: DataSourceV2Relation, schema: Schema, condition: Expression): Predicate = {
    val translator = new ExpressionTranslator(new SchemaColumns(relation, schema))
    Predicate.and(splitConjunctivePredicates(condition).filter(usable(_, relation)).map(translator.whenTrue): _*)
  }

  /** At least the rows for which the condition is TRUE; True when its functions tell nothing. */
  private[spark] def translate(
      relation: DataSourceV2Relation,
      schema: Schema,
      condition: Expression,
      factsOf: ColumnId => Set[FactKind] = _ => Set.empty,
      canEvaluate: Seq[ColumnRef] => Boolean = _ => false): Predicate = {
    val translator = new ExpressionTranslator(new SchemaColumns(relation, schema, factsOf, canEvaluate))
    val told =
      splitConjunctivePredicates(condition).filter(c => usable(c, relation) && !isPlain(c)).map(translator.whenTrue)
    Predicate.and(told: _*)
  }

  private def usable(conjunct: Expression, relation: DataSourceV2Relation): Boolean =
    conjunct.deterministic && !SubqueryExpression.hasSubquery(conjunct) &&
      conjunct.references.subsetOf(relation.outputSet)

  /** Columns compared with literals, and nothing else: Iceberg gets all of it from Spark. */
  private def isPlain(conjunct: Expression): Boolean =
    conjunct match {
      case And(left, right) => isPlain(left) && isPlain(right)
      case Or(left, right)  => isPlain(left) && isPlain(right)
      case Not(child)       => isPlain(child)
      case In(value, list)  => isColumn(value) && list.forall(_.isInstanceOf[Literal])
      case InSet(value, _)  => isColumn(value)
      case IsNull(child)    => isColumn(child)
      case IsNotNull(child) => isColumn(child)
      case c: BinaryComparison =>
        c.children.exists(isColumn) && c.children.exists(_.isInstanceOf[Literal])
      case StartsWith(value, _: Literal) => isColumn(value)
      case other                         => isColumn(other)
    }

  private def isColumn(expression: Expression): Boolean =
    expression match {
      case _: AttributeReference       => true
      case GetStructField(child, _, _) => isColumn(child)
      case _                           => false
    }

  /** What stands for a text in names and options. */
  private[rule] def digestOf(text: String): String = {
    val digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8))
    HexFormat.of().formatHex(digest, 0, DigestBytes)
  }

  private val DigestBytes = 16
}

/**
 * The columns of a relation and the fields of its structs, by name in the schema it was resolved with; and the values of
 * a map's key where there are facts of them.
 *
 * @param canEvaluate whether files hold few values of these columns
 */
private[spark] final class SchemaColumns(
    relation: DataSourceV2Relation,
    schema: Schema,
    factsOf: ColumnId => Set[FactKind] = _ => Set.empty,
    canEvaluate: Seq[ColumnRef] => Boolean = _ => false)
    extends ColumnResolver {

  override def knowsTexts(column: ColumnRef): Boolean =
    factsOf(column.id).exists(kind => kind == FactKind.Values || kind == FactKind.NGrams)

  override def evaluated(condition: Expression): Predicate =
    CatalystCondition.of(condition, this).filter(found => canEvaluate(found.columns)).getOrElse(True)

  override def column(expression: Expression): Option[ColumnRef] =
    expression match {
      case MapEntry(map, key) => ofKey(map, key, expression.dataType)
      case _ =>
        for {
          (field, name) <- find(expression)
          columnType <- IcebergValues.columnType(field.`type`())
          if shares(columnType, expression.dataType)
        } yield ColumnRef(field.fieldId, columnType, name)
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

  /** The field of the schema behind a column, or behind a field of a struct in one, and its full name. */
  private def find(expression: Expression): Option[(NestedField, String)] =
    expression match {
      case attribute: AttributeReference =>
        for {
          own <- relation.output.find(_.exprId == attribute.exprId)
          if !MetadataAttribute.isValid(own.metadata)
          field <- Option(schema.asStruct().field(own.name))
        } yield (field, own.name)
      case GetStructField(child, ordinal, _) =>
        for {
          (parent, parentName) <- find(child)
          if parent.`type`().isStructType
          name = child.dataType.asInstanceOf[StructType](ordinal).name
          field <- Option(parent.`type`().asStructType().field(name))
        } yield (field, s"$parentName.$name")
      case _ => None
    }

  /** Whether Spark holds and orders values of the column as the index does. */
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
