package zonemap.iceberg.build

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{Schema, Table}
import org.apache.iceberg.types.Types.NestedField

import zonemap.core.fact.FactKind
import zonemap.core.value._
import zonemap.iceberg.convert.IcebergValues
import zonemap.iceberg.index.TableFacts

/**
 * A fact that is to be built for the data files of a table. Serializable.
 *
 * @param typeText the column's type in the schema that the files are read with
 */
private[zonemap] final case class FactRequest(kind: FactKind, fieldId: Int, column: String, typeText: String) {
  def columnType: ColumnType =
    ColumnType.parse(typeText).getOrElse(throw new IllegalStateException(s"No column type '$typeText'."))

  /** As it is written in a call: `bloom(user_id)`. */
  def text: String = s"${kind.name}($column)"
}

private[zonemap] object FactRequest {
  private val Example = "Write a list such as 'values(status), bloom(user_id), ngrams(message)', or 'none'."
  private val Item = """\s*(\w+)\s*\(([^()]*)\)\s*""".r

  /** What a text such as `values(a, b), bloom(c)` asks for. */
  def parse(text: String, table: Table): Seq[FactRequest] = {
    def malformed(why: String) = throw new IllegalArgumentException(s"Cannot use facts '$text': $why. $Example")
    // a comma between facts is one that follows a closing parenthesis
    val requests = text.split("(?<=\\))\\s*,").toSeq.flatMap {
      case Item(name, columns) =>
        val kind = FactKind.ofName(name).getOrElse {
          malformed(s"'$name' is none of ${FactKind.values.map(_.name).mkString(", ")}")
        }
        val names = columns.split(',').map(_.trim.stripPrefix("`").stripSuffix("`")).toSeq
        if (names.exists(_.isEmpty)) malformed(s"$name() lacks a column")
        names.map(of(kind, _, table))
      case other => malformed(s"'${other.trim}' is not of the form kind(column)")
    }
    requests.distinct
  }

  private def of(kind: FactKind, column: String, table: Table): FactRequest = {
    def refuse(why: String, what: String) =
      throw new IllegalArgumentException(s"Cannot build ${kind.name}($column) of '${table.name()}': $why. $what.")
    if (TableFacts.hasNameMapping(table))
      refuse(
        "it has files without field ids, whose columns its name mapping tells, and that may be changed",
        "Rewrite the data files and remove the property schema.name-mapping.default"
      )
    val schema = table.schema()
    val field = Option(schema.findField(column))
      .orElse(Option(schema.caseInsensitiveFindField(column)))
      .getOrElse(refuse("there is no such column", s"The columns are ${names(schema)}"))
    val columnType = IcebergValues
      .columnType(field.`type`())
      .filter(isReadable)
      .filter(_ => isReached(schema, field))
      .getOrElse(
        refuse(
          s"a column of type ${field.`type`()} has none, nor has what is in a list or a map",
          "Name a column, or a field of a struct, of a simple type"))
    if (kind == FactKind.NGrams && columnType != StringType)
      refuse(s"it is of type ${columnType.text}", "N-grams are of string columns")
    if (isPartitionValue(table, field))
      refuse("it is a partition column, of which every file has one value", "Partitions prune by it already")
    FactRequest(kind, field.fieldId(), schema.findColumnName(field.fieldId()), columnType.text)
  }

  private def names(schema: Schema): String = schema.columns().asScala.map(_.name()).mkString(", ")

  /** Spark has no values of the other types. */
  private def isReadable(columnType: ColumnType): Boolean =
    columnType match {
      case TimeType | TimestampNsType | TimestampTzNsType => false
      case _                                              => true
    }

  private def isReached(schema: Schema, field: NestedField): Boolean =
    IndexedColumns.of(Seq(schema)).fieldIds.contains(field.fieldId())

  /** Readers take the values of identity partitions from the file's tuple; the file may hold others, or none. */
  private def isPartitionValue(table: Table, field: NestedField): Boolean =
    table.specs().values().asScala.exists { spec =>
      spec.fields().asScala.exists(f => f.sourceId() == field.fieldId() && f.transform().isIdentity)
    }
}
