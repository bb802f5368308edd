// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.build

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.iceberg.{Schema, Snapshot, Table}
import org.apache.iceberg.types.Types

import zonemap.core.column.{ColumnChoice, ColumnSpec}
import zonemap.core.value.ColumnType
import zonemap.iceberg.convert.{ColumnNames, IcebergValues}

/**
 * The columns whose bounds a segment stores: every primitive field whose parents are all structs.
 *
 * List elements and map entries have no bounds that a filter could name. A field id has its type in the schema of the
 * indexed snapshot, else its type in the newest other schema that has the field: within the manifests of one
 * snapshot, only promotion changes the type of an id, and a reader rejects a stored type that it cannot compare with
 * the requested type.
 *
 * @param specs the columns, in the order of `fieldIds`
 * @param nested the ids of fields that are not top-level columns
 * @param choice the columns about which segments may store anything; it applies to delete segments too
 */
private[zonemap] final case class IndexedColumns(
    specs: IndexedSeq[ColumnSpec],
    nested: Set[Int],
    choice: ColumnChoice = ColumnChoice.All) {
  lazy val fieldIds: Array[Int] = specs.iterator.map(_.fieldId).toArray

  /** Serializes the types by name for executors, because the types themselves are not serializable. */
  private def writeReplace(): AnyRef =
    new IndexedColumns.Travelling(
      specs.map(c => (c.fieldId, c.columnType.text)).toArray,
      nested.toArray,
      choice.fieldIds.map(_.toArray))
}

private[zonemap] object IndexedColumns {

  private final class Travelling(specs: Array[(Int, String)], nested: Array[Int], chosen: Option[Array[Int]])
      extends Serializable {
    private def readResolve(): AnyRef =
      IndexedColumns(
        specs.iterator.map { case (fieldId, text) =>
          val columnType = ColumnType.parse(text).getOrElse(throw new IllegalStateException(s"No column type '$text'."))
          ColumnSpec(fieldId, columnType)
        }.toIndexedSeq,
        nested.toSet,
        ColumnChoice(chosen.map(_.toSet))
      )
  }

  /** The names of the columns of a choice and of other columns with bounds, in the order of the field ids. */
  def namesOf(schema: Schema, choice: ColumnChoice, others: Iterable[Int]): Seq[String] = {
    val bounded = of(Seq(schema)).fieldIds.toSet
    ColumnNames.of(schema, (choice.fieldIds.getOrElse(Set.empty) ++ others).intersect(bounded))
  }

  /** The columns of `snapshot` that `choice` names. */
  def of(table: Table, snapshot: Snapshot, choice: ColumnChoice): IndexedColumns = {
    val others = table.schemas().values().asScala.toSeq.sortBy(-_.schemaId())
    val schemas = Option(snapshot.schemaId()).flatMap(id => Option(table.schemas().get(id))).toSeq ++
      (table.schema() +: others)
    val all = of(schemas)
    all.copy(specs = all.specs.filter(spec => choice.holds(spec.fieldId)), choice = choice)
  }

  def of(schemas: Seq[Schema]): IndexedColumns = {
    val columns = mutable.LinkedHashMap.empty[Int, ColumnSpec]
    val nested = mutable.Set.empty[Int]
    schemas.foreach { schema =>
      leaves(schema.asStruct(), isNested = false).foreach { case (field, isNested) =>
        IcebergValues.columnType(field.`type`()).filterNot(_ => columns.contains(field.fieldId)).foreach { columnType =>
          columns.put(field.fieldId, ColumnSpec(field.fieldId, columnType))
          if (isNested) nested += field.fieldId
        }
      }
    }
    IndexedColumns(columns.values.toIndexedSeq.sortBy(_.fieldId), nested.toSet)
  }

  private def leaves(struct: Types.StructType, isNested: Boolean): Iterator[(Types.NestedField, Boolean)] =
    struct.fields().asScala.iterator.flatMap { field =>
      if (field.`type`().isStructType) leaves(field.`type`().asStructType(), isNested = true)
      else if (field.`type`().isPrimitiveType) Iterator((field, isNested))
      else Iterator.empty
    }
}
