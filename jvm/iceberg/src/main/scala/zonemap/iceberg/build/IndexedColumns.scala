package zonemap.iceberg.build

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.iceberg.{Schema, Snapshot, Table}
import org.apache.iceberg.types.Types

import zonemap.core.segment.{ColumnChoice, ColumnSpec}
import zonemap.core.value.ColumnType
import zonemap.iceberg.convert.IcebergValues

/**
 * The columns whose bounds a segment stores: every primitive leaf that is reached through structs only.
 *
 * List elements and map entries have no bounds that a filter could name. A field id takes its type from the schema of
 * the snapshot being indexed, then from the newest other schema that has it: within one snapshot's manifests an id
 * never changes type except by promotion, and a reader refuses a stored type that cannot be compared with the one it
 * asks for.
 *
 * @param specs the columns, in the order of `fieldIds`
 * @param nested field ids that are not top-level columns
 * @param choice which columns anything may be stored of, in delete segments too
 */
private[zonemap] final case class IndexedColumns(
    specs: IndexedSeq[ColumnSpec],
    nested: Set[Int],
    choice: ColumnChoice = ColumnChoice.All) {
  lazy val fieldIds: Array[Int] = specs.iterator.map(_.fieldId).toArray

  /** Travels to executors by the names of the types: the types themselves are not serializable. */
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

  /** Those of the columns of `snapshot` that `choice` names. */
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
