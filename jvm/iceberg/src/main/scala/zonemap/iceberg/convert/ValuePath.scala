// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.convert

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Locale

import org.apache.iceberg.types.Type

import zonemap.core.predicate.ColumnId
import zonemap.core.value._

/**
 * A path to a value within the values of a column. The values at the path are a column of their own, whose `ColumnId`
 * has this as its key: SOUNDNESS, S173 and S174.
 */
private[zonemap] sealed trait ValuePath {

  /** The versions of Spark and of Java whose functions evaluate the path. */
  def evaluator: String

  def path: String

  /** One path for the same path of all versions. */
  def ofAnyEvaluator: ValuePath

  def key: ZoneValue

  /** The function of SQL that returns the value, applied to a column. */
  def functionOf(column: String): String
}

/** A path in the JSON of a text column: its values are the texts of `get_json_object`. */
private[zonemap] final case class JsonPath(evaluator: String, path: String) extends ValuePath {
  override def ofAnyEvaluator: JsonPath = copy(evaluator = "")
  override def key: ZoneValue = ValuePath.key(ValuePath.OfJson, s"$evaluator $path")
  override def functionOf(column: String): String = s"get_json_object($column, ${ColumnNames.quoted(path)})"
}

/**
 * A path in a variant column: its values are those of `variant_get`.
 *
 * @param valueType the type to which `variant_get` casts, one of [[VariantPath.Types]]
 */
private[zonemap] final case class VariantPath(evaluator: String, path: String, valueType: ColumnType)
    extends ValuePath {
  require(VariantPath.sqlNames.contains(valueType), s"Paths in variants have no values of type ${valueType.text}.")

  override def ofAnyEvaluator: VariantPath = copy(evaluator = "")
  override def key: ZoneValue = ValuePath.key(ValuePath.OfVariant, s"$evaluator ${valueType.text} $path")

  override def functionOf(column: String): String =
    s"variant_get($column, ${ColumnNames.quoted(path)}, '${VariantPath.sqlNames(valueType)}')"
}

private[zonemap] object VariantPath {

  /**
   * The types by their names in SQL. A text can have so many digits that its cast to a decimal takes minutes, and its
   * cast to a timestamp can depend on the day on which it runs.
   */
  val Types: Map[String, ColumnType] = Map(
    "boolean" -> BooleanType,
    "int" -> IntType,
    "bigint" -> LongType,
    "float" -> FloatType,
    "double" -> DoubleType,
    "string" -> StringType,
    "date" -> DateType)

  private val sqlNames: Map[ColumnType, String] = Types.map(_.swap)

  def typeOf(sqlName: String): Option[ColumnType] = Types.get(sqlName.trim.toLowerCase(Locale.ROOT))
}

private[zonemap] object ValuePath {

  /** No text begins with these bytes, so that no key of a map is the key of a path. */
  private[convert] val OfJson: Byte = -1
  private[convert] val OfVariant: Byte = -2

  private[convert] def key(kind: Byte, text: String): ZoneValue = BytesValue(kind +: text.getBytes(UTF_8))

  def of(column: ColumnId): Option[ValuePath] = column.mapKey.flatMap(ofKey)

  private[convert] def ofKey(key: ZoneValue): Option[ValuePath] =
    key match {
      case BytesValue(bytes) if bytes.headOption.contains(OfJson)    => json(new String(bytes.tail, UTF_8))
      case BytesValue(bytes) if bytes.headOption.contains(OfVariant) => variant(new String(bytes.tail, UTF_8))
      case _                                                         => None
    }

  private def json(text: String): Option[JsonPath] =
    text.split(" ", 2) match {
      case Array(evaluator, path) => Some(JsonPath(evaluator, path))
      case _                      => None
    }

  private def variant(text: String): Option[VariantPath] =
    text.split(" ", 3) match {
      case Array(evaluator, typeText, path) =>
        ColumnType.parse(typeText).filter(VariantPath.Types.values.toSet).map(VariantPath(evaluator, path, _))
      case _ => None
    }

  /** The column, with one key for the same path of all versions. */
  def ofAnyEvaluator(column: ColumnId): ColumnId =
    of(column).fold(column)(path => column.copy(mapKey = Some(path.ofAnyEvaluator.key)))

  /** The type of the values of a column whose field has this type. */
  def typeOf(column: ColumnId, field: Type): Option[ColumnType] =
    of(column) match {
      case Some(variant: VariantPath) => Option.when(field.isVariantType)(variant.valueType)
      case _                          => IcebergValues.columnType(field)
    }
}
