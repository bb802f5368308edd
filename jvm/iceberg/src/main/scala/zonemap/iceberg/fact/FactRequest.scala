// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.fact

import java.util.Locale

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.iceberg.Table
import org.apache.iceberg.types.{Type, Types}
import org.apache.iceberg.types.Types.{MapType, NestedField}

import zonemap.core.fact.FactKind
import zonemap.core.predicate.ColumnId
import zonemap.core.value._
import zonemap.iceberg.convert._
import zonemap.iceberg.report.SqlText
import zonemap.iceberg.snapshot.TableFacts

/**
 * A request to build one kind of fact about one column for the data files of a table. Serializable.
 *
 * @param name the column's name in the schema with which the files are read
 * @param typeText the column's type in that schema
 * @param mapping a digest of the names by which readers find the column in files without field ids, see
 *   [[zonemap.iceberg.convert.MappedNames]]
 * @param isChosen whether upkeep has chosen the fact by observed scans
 */
private[zonemap] final case class FactRequest(
    kind: FactKind,
    column: ColumnId,
    name: String,
    typeText: String,
    mapping: Option[String] = None,
    isChosen: Boolean = false) {

  /** The path to the values of the column, if they are parts of other values. */
  def path: Option[ValuePath] = ValuePath.of(column)

  def columnType: ColumnType =
    ColumnType.parse(typeText).getOrElse(throw new IllegalStateException(s"No column type '$typeText'."))

  /** The request in the notation of a call: `bloom(user_id)`. */
  def text: String = s"${kind.name}($name)"
}

private[zonemap] object FactRequest {
  private val Example =
    "Write a list such as 'values(status, tags[''type'']), bloom(user_id), ngrams(message), bounds(note), ranges(ts), " +
      "keys(order_id), values(get_json_object(payload, ''$.kind''))', or 'none'."

  /**
   * Parses the facts in a text such as `values(a, b), bloom(c)`.
   *
   * @param evaluator the versions that evaluate paths in JSON and variants; None if nothing does
   */
  def parse(text: String, table: Table, evaluator: Option[String] = None): Seq[FactRequest] = {
    def malformed(why: String) = throw new IllegalArgumentException(s"Cannot use facts '$text': $why. $Example")
    val requests = FactText.split(text).flatMap {
      case FactText.Item(name, columns) =>
        val kind = FactKind.ofName(name).getOrElse {
          malformed(s"'$name' is not one of ${FactKind.values.map(_.name).mkString(", ")}")
        }
        if (columns.exists(_.isEmpty)) malformed(s"$name() lacks a column")
        columns.map(new Parsed(kind, _, table, evaluator).request)
      case other => malformed(s"'$other' is not of the form kind(column)")
    }
    requests.distinct
  }

  /**
   * The requests for all facts that the table has; facts that can no longer be requested are left out. Facts of
   * paths keep the versions that they are of.
   */
  def known(table: Table, facts: TableFacts): Seq[FactRequest] =
    facts.known.toSeq.sortBy { case (column, kind) => (kind.code, column.fieldId) }.flatMap { case (column, kind) =>
      val name = SqlText.factColumn(ColumnNames.of(table.schema(), column))
      val evaluator = ValuePath.of(column).map(_.evaluator)
      val parsed = Try(new Parsed(kind, name, table, evaluator).request)
      parsed.toOption.filter(_.column == column).map(_.copy(isChosen = facts.isChosen(column, kind)))
    }

  /** One fact in the notation of a call. */
  private final class Parsed(kind: FactKind, text: String, table: Table, evaluator: Option[String]) {
    private val schema = table.schema()
    private lazy val paths = new FieldPaths(schema)

    def request: FactRequest = {
      val (column, valueType) = text match {
        case FactText.MapKey(map, key)                      => ofKey(find(map), key)
        case FactText.PathInJson(json, path)                => ofJson(find(json), path)
        case FactText.PathInVariant(variant, path, sqlType) => ofVariant(find(variant), path, sqlType)
        case name =>
          val field = elementOf(find(FactText.bare(name)))
          refusePartitionValue(field)
          if (isOmitted(field))
            refuse(
              "readers of this column alone can omit values of it",
              "Name a field without a default, or the keys of a map whose keys and values are of simple types"
            )
          (ColumnId(field.fieldId()), field.`type`())
      }
      val columnType = IcebergValues
        .columnType(valueType)
        .filter(isReadable)
        .filter(_ => isReached(column.fieldId))
        .getOrElse(refuse(
          s"a column of type $valueType or within two lists or maps has no facts",
          "Name a column, a field of a struct, a list, a key of a map, such as tags['type'], or the keys or values of " +
            "a map, such as tags.key, of a simple type"
        ))
      if (kind == FactKind.NGrams && columnType != StringType)
        refuse(s"it is of type ${columnType.text}", "Name a string column")
      if (kind == FactKind.Ranges && columnType.encoding != Encoding.Longs)
        refuse(s"it is of type ${columnType.text}", "Name a column of numbers, dates or times")
      FactRequest(
        kind,
        column,
        ColumnNames.of(schema, column),
        columnType.text,
        MappedNames.digest(table, column.fieldId))
    }

    private def find(name: String): NestedField =
      ColumnNames.find(schema, name).getOrElse(refuse("the table has no such column", s"Name one of $names"))

    /** The elements, if the field is a list. */
    private def elementOf(field: NestedField): NestedField =
      if (field.`type`().isListType) field.`type`().asListType().fields().get(0) else field

    private def ofKey(field: NestedField, key: ZoneValue): (ColumnId, Type) = {
      if (!field.`type`().isMapType) refuse(s"${field.name()} is not a map", "Name the column without a key")
      val map = field.`type`().asMapType()
      val fits = (map.keyType().typeId(), key) match {
        case (Type.TypeID.STRING, _: BytesValue)                    => true
        case (Type.TypeID.INTEGER | Type.TypeID.LONG, LongValue(_)) => true
        case _                                                      => false
      }
      if (!fits)
        refuse(s"its keys are of type ${map.keyType()}", "Name a key that is a whole number or a string in quotes")
      (ColumnId(map.valueId(), Some(key)), map.valueType())
    }

    private def ofJson(field: NestedField, path: String): (ColumnId, Type) = {
      requireWhole(field, Type.TypeID.STRING)
      refusePartitionValue(field)
      if (kind == FactKind.NGrams)
        refuse("n-grams of the whole text evaluate its paths too", s"Write ngrams(${field.name()})")
      (ColumnId(field.fieldId(), Some(JsonPath(evaluating, path).key)), field.`type`())
    }

    private def ofVariant(field: NestedField, path: String, sqlType: String): (ColumnId, Type) = {
      requireWhole(field, Type.TypeID.VARIANT)
      val valueType = VariantPath
        .typeOf(sqlType)
        .getOrElse(
          refuse(
            s"'$sqlType' is not a type of its facts",
            s"Name one of ${VariantPath.Types.keys.toSeq.sorted.mkString(", ")}"))
      (
        ColumnId(field.fieldId(), Some(VariantPath(evaluating, path, valueType).key)),
        Types.fromPrimitiveString(valueType.text))
    }

    private def evaluating: String =
      evaluator.getOrElse(refuse("no Spark evaluates the path here", "Build it in Spark"))

    /** Requires a column of the type, or a field of a struct, which has one value in a row. */
    private def requireWhole(field: NestedField, typeId: Type.TypeID): Unit = {
      val name = typeId.name().toLowerCase(Locale.ROOT)
      if (field.`type`().typeId() != typeId || parentsOf(field.fieldId()).exists(!schema.findType(_).isStructType))
        refuse(s"${field.name()} is not a $name column or a $name field of a struct", "Name one")
    }

    private def names: String = schema.columns().asScala.map(_.name()).mkString(", ")

    /** Spark cannot read values of the other types. */
    private def isReadable(columnType: ColumnType): Boolean =
      columnType match {
        case TimeType | TimestampNsType | TimestampTzNsType => false
        case _                                              => true
      }

    /** Whether all parents of the field are structs, apart from one list or map. */
    private def isReached(fieldId: Int): Boolean =
      parentsOf(fieldId).count(id => !schema.findType(id).isStructType) <= 1

    /** The ids of the fields in which a field lies, the innermost first. */
    private def parentsOf(fieldId: Int): Seq[Int] = paths.of(fieldId).init.reverse

    /**
     * Whether a file can have values of a field of elements that readers of this field alone do not return. They can
     * omit all structs of a list or map if the file lacks the fields that they read of them. They cannot read a part of
     * a key.
     */
    private def isOmitted(field: NestedField): Boolean =
      parentsOf(field.fieldId()).map(schema.findType(_)).find(!_.isStructType).exists {
        case map: MapType if map.keyId() == field.fieldId()                   => !map.valueType().isPrimitiveType
        case map: MapType if parentsOf(field.fieldId()).contains(map.keyId()) => true
        case _                                                                => field.initialDefault() != null
      }

    /**
     * Readers take the value of an identity partition column from the file's partition tuple; the file may contain
     * other values, or none.
     */
    private def refusePartitionValue(field: NestedField): Unit =
      if (table.specs().values().asScala.exists(PartitionTuples.identityPosition(_, field.fieldId()).isDefined))
        refuse("it is a partition column with one value in each file", "Iceberg prunes partitions by it")

    private def refuse(why: String, what: String): Nothing =
      throw new IllegalArgumentException(s"Cannot build ${kind.name}($text) of '${table.name()}': $why. $what.")
  }
}
