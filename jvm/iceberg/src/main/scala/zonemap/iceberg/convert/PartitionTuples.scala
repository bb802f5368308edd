// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.convert

import java.nio.ByteBuffer
import java.util.{Map => JMap, UUID}

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{PartitionData, PartitionSpec, StructLike}
import org.apache.iceberg.types.{Type, Types}

/**
 * Converts partition tuples between Iceberg's `StructLike` and the plain values that a segment stores.
 *
 * A stored tuple has the types of the time when it was indexed; the spec of a query may be bound to an older or a
 * newer schema. [[fill]] and [[toStruct]] therefore convert each value to the spec's present type, and fail at once
 * on a value that does not fit, so that no wrong tuple reaches an executor.
 */
private[zonemap] object PartitionTuples {

  /** The values of a tuple, detached from Iceberg's classes: strings, byte arrays and boxed primitives. */
  def toValues(tuple: StructLike, partitionType: Types.StructType): Array[AnyRef] =
    Array.tabulate(partitionType.fields().size()) { pos =>
      tuple.get(pos, classOf[Object]) match {
        case null               => null
        case text: CharSequence => text.toString
        case buffer: ByteBuffer => IcebergValues.toArray(buffer)
        case value              => value
      }
    }

  /**
   * Sets the values of a tuple in `data`, which has the type `partitionType`, and returns `data`.
   *
   * @throws IllegalArgumentException if the number of values or one of them does not fit the type
   */
  def fill(data: PartitionData, values: Array[AnyRef], partitionType: Types.StructType): PartitionData = {
    val converted = convert(values, partitionType)
    converted.indices.foreach(pos => data.set(pos, converted(pos)))
    data
  }

  /** The tuple with the same values as [[fill]] sets, at a lower cost: an evaluator of projected filters reads it. */
  def toStruct(values: Array[AnyRef], partitionType: Types.StructType): StructLike =
    new ValuesStruct(convert(values, partitionType))

  /**
   * A key that is equal for equal tuples of one spec, even if types were promoted between the indexing of two tuples.
   * Floats are equal as Iceberg compares them in tuples: NaN equals itself, and the two zeros differ.
   */
  def key(specId: Int, values: Array[AnyRef]): TupleKey =
    TupleKey(specId, values.iterator.map(normalize).toVector)

  final case class TupleKey(specId: Int, values: Vector[Any])

  private final case class DoubleBits(bits: Long)

  private def normalize(value: AnyRef): Any =
    value match {
      case i: java.lang.Integer => i.longValue
      case f: java.lang.Float   => DoubleBits(java.lang.Double.doubleToLongBits(f.doubleValue))
      case d: java.lang.Double  => DoubleBits(java.lang.Double.doubleToLongBits(d))
      case bytes: Array[Byte]   => ByteBuffer.wrap(bytes)
      case other                => other
    }

  private def convert(values: Array[AnyRef], partitionType: Types.StructType): Array[AnyRef] = {
    val fields = partitionType.fields().asScala
    require(
      values.length == fields.size,
      s"Cannot convert a partition tuple of ${values.length} values: the spec has ${fields.size} fields.")
    Array.tabulate(values.length)(pos => convert(values(pos), fields(pos).`type`()))
  }

  private def convert(value: AnyRef, fieldType: Type): AnyRef =
    (fieldType.typeId(), value) match {
      case (_, null) => null
      case (Type.TypeID.LONG | Type.TypeID.TIMESTAMP | Type.TypeID.TIME | Type.TypeID.TIMESTAMP_NANO, n: Number) =>
        java.lang.Long.valueOf(integral(n))
      case (Type.TypeID.INTEGER | Type.TypeID.DATE, n: Number) =>
        java.lang.Integer.valueOf(Math.toIntExact(integral(n)))
      case (Type.TypeID.FLOAT, n: Number)                               => java.lang.Float.valueOf(n.floatValue)
      case (Type.TypeID.DOUBLE, n: Number)                              => java.lang.Double.valueOf(n.doubleValue)
      case (Type.TypeID.BINARY | Type.TypeID.FIXED, bytes: Array[Byte]) => ByteBuffer.wrap(bytes)
      case (Type.TypeID.STRING, text: String)                           => text
      case (Type.TypeID.BOOLEAN, flag: java.lang.Boolean)               => flag
      case (Type.TypeID.DECIMAL, decimal: java.math.BigDecimal)         => decimal
      case (Type.TypeID.UUID, uuid: UUID)                               => uuid
      case (_, other) =>
        throw new IllegalArgumentException(
          s"Cannot convert partition value '$other' of ${other.getClass.getName} to $fieldType.")
    }

  private def integral(number: Number): Long =
    number match {
      case _: java.lang.Integer | _: java.lang.Long => number.longValue
      case other => throw new IllegalArgumentException(s"Cannot convert partition value '$other': not an integer.")
    }

  private final class ValuesStruct(values: Array[AnyRef]) extends StructLike {
    override def size(): Int = values.length
    override def get[T](pos: Int, javaClass: Class[T]): T = javaClass.cast(values(pos))
    override def set[T](pos: Int, value: T): Unit =
      throw new UnsupportedOperationException("Cannot set a partition value: the tuple is read-only.")
  }

  /**
   * The position at which the tuples of a spec hold the column's own value: readers return this value for every row
   * of a file, even if the file contains other values. `None` if the column is not an identity partition of the spec.
   */
  def identityPosition(spec: PartitionSpec, fieldId: Int): Option[Int] = {
    val position = spec.fields().asScala.indexWhere(f => f.sourceId() == fieldId && f.transform().isIdentity)
    Option.when(position >= 0)(position)
  }

  /** The specs of an Iceberg table, by plain ids. */
  def specsById(specs: JMap[Integer, PartitionSpec]): Map[Int, PartitionSpec] =
    specs.asScala.iterator.map { case (id, spec) => id.intValue -> spec }.toMap

  /** The field ids of the columns a spec partitions by. */
  def sourceIds(spec: PartitionSpec): Set[Int] = spec.fields().asScala.map(_.sourceId()).toSet
}
