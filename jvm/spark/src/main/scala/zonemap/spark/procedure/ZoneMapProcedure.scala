// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.procedure

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.sql.types.{DataType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String

import zonemap.core.io.CorruptIndexException
import zonemap.iceberg.report.SqlText
import zonemap.spark.ErrorText

/** A parameter of a procedure. `default` is SQL text; a parameter without a default is required. */
private[zonemap] final case class Parameter(name: String, dataType: DataType, default: Option[String], doc: String)

private[zonemap] object Parameter {

  /** The table of a procedure. */
  val Table: Parameter =
    Parameter("table", StringType, None, "Identifier of the Iceberg table, such as 'lake.db.t'.")
}

/** The arguments of one call, by parameter name. */
private[zonemap] final class Arguments(parameters: Seq[Parameter], input: InternalRow) {
  def text(name: String): String = {
    val position = positionOf(name)
    if (input.isNullAt(position))
      throw new IllegalArgumentException(s"Cannot use NULL for argument '$name': it must be a text. Give a text.")
    input.getUTF8String(position).toString
  }

  /** Returns a text; `None` for NULL. */
  def optionalText(name: String): Option[String] = Option.when(!input.isNullAt(positionOf(name)))(text(name))

  def flag(name: String): Boolean = {
    val position = positionOf(name)
    !input.isNullAt(position) && input.getBoolean(position)
  }

  /** Returns a whole number of 0 or more. */
  def count(name: String): Int = {
    val position = positionOf(name)
    if (input.isNullAt(position) || input.getInt(position) < 0)
      throw new IllegalArgumentException(
        s"Cannot use argument '$name': it is not a whole number of 0 or more. Give " +
          "such a number.")
    input.getInt(position)
  }

  /** Returns a finite number above 0. */
  def positive(name: String): Double = {
    val position = positionOf(name)
    val value = if (input.isNullAt(position)) 0.0 else input.getDouble(position)
    if (value > 0 && !value.isInfinite) value
    else
      throw new IllegalArgumentException(
        s"Cannot use argument '$name': it is not a number above 0. Give such a number.")
  }

  /** Returns a whole number of 0 or more; `None` for NULL. */
  def optionalCount(name: String): Option[Int] = Option.when(!input.isNullAt(positionOf(name)))(count(name))

  /** Returns a whole number of 0 or more, for a parameter of type BIGINT; `None` for NULL. */
  def optionalLong(name: String): Option[Long] = Option.when(!input.isNullAt(positionOf(name)))(long(name))

  /** Returns a whole number of 0 or more, for a parameter of type BIGINT. */
  def long(name: String): Long = {
    val position = positionOf(name)
    if (input.isNullAt(position) || input.getLong(position) < 0)
      throw new IllegalArgumentException(
        s"Cannot use argument '$name': it is not a whole number of 0 or more. Give such a number.")
    input.getLong(position)
  }

  /** Returns a map of texts to whole numbers, which is empty for NULL. */
  def longs(name: String): Map[String, Long] = {
    val position = positionOf(name)
    if (input.isNullAt(position)) Map.empty
    else {
      val map = input.getMap(position)
      (0 until map.numElements()).map { i =>
        if (map.valueArray().isNullAt(i))
          throw new IllegalArgumentException(
            s"Cannot use NULL in argument '$name': its values must be whole numbers. Remove the NULL.")
        map.keyArray().getUTF8String(i).toString -> map.valueArray().getLong(i)
      }.toMap
    }
  }

  /** Returns a list of texts, which is empty for NULL. */
  def texts(name: String): Seq[String] = {
    val position = positionOf(name)
    if (input.isNullAt(position)) Nil
    else {
      val array = input.getArray(position)
      (0 until array.numElements()).map { i =>
        if (array.isNullAt(i))
          throw new IllegalArgumentException(
            s"Cannot use NULL in argument '$name': its elements must be texts. " +
              "Remove the NULL.")
        array.getUTF8String(i).toString
      }
    }
  }

  private def positionOf(name: String): Int = parameters.indexWhere(_.name == name)
}

/**
 * A procedure of the extension.
 *
 * @param output the columns of the returned rows
 * @param body returns the rows, with values in the order of `output`
 */
private[zonemap] final class ZoneMapProcedure(
    procedureName: String,
    doc: String,
    val inputs: Seq[Parameter],
    val output: StructType,
    body: (SparkSession, Arguments) => Seq[Seq[Any]])
    extends SparkProcedure {

  override def name(): String = procedureName
  override def description(): String = doc

  override protected def rows(input: InternalRow): Array[InternalRow] = {
    val arguments = new Arguments(inputs, input)
    val found =
      try body(SparkSession.active, arguments)
      catch { case e: CorruptIndexException => throw damaged(arguments, e) }
    found.map(values => InternalRow.fromSeq(values.map(ZoneMapProcedure.internal))).toArray
  }

  /** The error of a call that reads a damaged part of an index. */
  private def damaged(arguments: Arguments, error: CorruptIndexException): IllegalArgumentException = {
    val table = if (inputs.exists(_.name == "table")) arguments.optionalText("table") else None
    val (of, build) =
      table.fold(("", "CALL zonemap.system.build_index of the table"))(t => (s" for '$t'", SqlText.build(t)))
    new IllegalArgumentException(
      s"Cannot call $procedureName$of: the stored index cannot be used: ${ErrorText.firstLine(error)}. $build builds it anew.",
      error)
  }
}

private[zonemap] object ZoneMapProcedure {
  def apply(name: String, doc: String, inputs: Seq[Parameter], output: StructType)(
      body: (SparkSession, Arguments) => Seq[Seq[Any]]): ZoneMapProcedure =
    new ZoneMapProcedure(name, doc, inputs, output, body)

  /** A value in Spark's internal form: a text, a number, or a map, a list or a struct (a case class) of these. */
  private def internal(value: Any): Any =
    value match {
      case text: String => UTF8String.fromString(text)
      case map: Map[_, _] =>
        val entries = map.toSeq
        ArrayBasedMapData(entries.map(e => internal(e._1)).toArray, entries.map(e => internal(e._2)).toArray)
      case list: Seq[_]    => new GenericArrayData(list.map(internal).toArray)
      case struct: Product => InternalRow.fromSeq(struct.productIterator.map(internal).toSeq)
      case other           => other
    }
}
