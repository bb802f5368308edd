// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.evidence

import java.nio.ByteBuffer
import java.time.LocalDate
import java.util.Locale

import scala.annotation.nowarn
import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.iceberg.Schema
import org.apache.iceberg.io.InputFile
import org.apache.iceberg.mapping.NameMapping
import org.apache.iceberg.shaded.org.apache.orc._
import org.apache.iceberg.shaded.org.apache.orc.OrcFile.{WriterImplementation, WriterVersion}
import org.apache.iceberg.shaded.org.apache.orc.TypeDescription.Category
import org.apache.iceberg.shaded.org.apache.orc.impl.ReaderImpl

import zonemap.core.value._

/** Reads the footer of an ORC file through Iceberg's FileIO, with the ORC library of Iceberg's runtime. */
private[evidence] object OrcFooter {

  /** The attribute in which Iceberg's writers state the field id of a column. */
  private val FieldId = "iceberg.id"

  /** If all columns have such names, the library's readers find them by position. */
  private val NameOfPosition = "_col\\d+".r

  /** The columns of a file of a transactional table of Hive, which the library's readers search for the table's columns. */
  private val Transactional =
    Seq("operation", "originaltransaction", "bucket", "rowid", "currenttransaction", "row")

  /** Days from here on have one number in both calendars; the library moves earlier ones between them by up to 10 days. */
  private val OneCalendar: Long = LocalDate.of(1583, 1, 1).toEpochDay

  /** See [[FileFooter.read]]. */
  @nowarn("cat=deprecation") // of the only way to give a reader bytes that were read already
  def read(
      file: InputFile,
      schema: Schema,
      mapping: Option[NameMapping],
      wanted: Map[Int, ColumnType]): Option[FileFooter] = {
    val tail = ReaderImpl.extractFileTail(ByteBuffer.wrap(FooterInput.tail(file)(lengthOfTail)))
    // the reader opens no file, since it has the tail
    val options = OrcFile.readerOptions(new Configuration(false)).orcTail(tail)
    val reader = OrcFile.createReader(new Path("tail"), options)
    try footer(reader, schema, mapping, wanted)
    finally reader.close()
  }

  /** The bytes of the statistics of the stripes, the footer and the postscript, at the end of the file. */
  private def lengthOfTail(end: Array[Byte]): Long =
    end.lastOption.map(_ & 0xff).filter(_ < end.length).fold(0L) { length =>
      val postscript = OrcProto.PostScript.parseFrom(end.slice(end.length - 1 - length, end.length - 1))
      1L + length + postscript.getFooterLength + postscript.getMetadataLength + postscript.getStripeStatisticsLength
    }

  private def footer(
      reader: Reader,
      schema: Schema,
      mapping: Option[NameMapping],
      wanted: Map[Int, ColumnType]): Option[FileFooter] = {
    val types = descendants(reader.getSchema)
    val hasIds = types.exists(idIn(_).isDefined)
    val idOf: Option[(Seq[String], TypeDescription) => Option[Int]] =
      if (hasIds) Option.when(types.forall(idIn(_).isDefined))((_, column) => idIn(column))
      else mapping.map(names => (path, _) => Option(names.find(path.asJava)).flatMap(f => Option(f.id)).map(_.intValue))
    idOf.filter(_ => areFoundByName(reader.getSchema)).map { ids =>
      val rows = reader.getStripes.asScala.map(_.getNumberOfRows).toSeq
      val stripes = if (isBelieved(reader)) reader.getStripeStatistics.asScala.map(_.getColumnStatistics).toSeq else Nil
      val columns =
        if (stripes.size != rows.size) Map.empty[Int, FooterColumn]
        else
          FileFooter.columns(schema, wanted, leaves(reader.getSchema, ids)) { (column, columnType) =>
            FooterColumn.together(stripes.zip(rows).map { case (statistics, count) =>
              ofStripe(statistics(column.place), count, column, columnType)
            })
          }
      FileFooter(rows.sum, columns, hasIds, statesExtremes = false)
    }
  }

  /**
   * Whether the statistics are those of the rows: Apache ORC for Java wrote them, after it had compared texts by bytes
   * (HIVE-8732), and no column is encrypted, of which the tail may describe masked values.
   */
  private def isBelieved(reader: Reader): Boolean = {
    val writer = reader.getWriterVersion
    writer.getWriterImplementation == WriterImplementation.ORC_JAVA && writer.includes(WriterVersion.HIVE_8732) &&
    reader.getColumnEncryptionKeys.isEmpty
  }

  /** Whether the library's readers find each column by its name and the names of the structs around it. */
  private def areFoundByName(root: TypeDescription): Boolean = {
    val structs =
      (root +: descendants(root)).filter(_.getCategory == Category.STRUCT).map(_.getFieldNames.asScala.toSeq)
    def lowerCase(names: Seq[String]) = names.map(_.toLowerCase(Locale.ROOT))
    structs.forall(names => lowerCase(names).distinct.size == names.size) &&
    !structs.head.forall(NameOfPosition.matches) && lowerCase(structs.head) != Transactional
  }

  private def descendants(column: TypeDescription): Seq[TypeDescription] =
    Option(column.getChildren).fold(Seq.empty[TypeDescription]) { children =>
      children.asScala.toSeq.flatMap(child => child +: descendants(child))
    }

  private def idIn(column: TypeDescription): Option[Int] = Option(column.getAttributeValue(FieldId)).map(_.toInt)

  /** The columns that readers find by field ids and that have one value a row, in the order of the file. */
  private def leaves(
      struct: TypeDescription,
      idOf: (Seq[String], TypeDescription) => Option[Int],
      names: Seq[String] = Nil,
      ids: Seq[Int] = Nil): Seq[StoredColumn[TypeDescription]] =
    struct.getFieldNames.asScala.toSeq.zip(struct.getChildren.asScala).flatMap { case (name, child) =>
      idOf(names :+ name, child).toSeq.flatMap { id =>
        if (child.getCategory == Category.STRUCT) leaves(child, idOf, names :+ name, ids :+ id)
        else Seq(StoredColumn(ids :+ id, child.getId, child))
      }
    }

  private def ofStripe(
      statistics: ColumnStatistics,
      rows: Long,
      column: StoredColumn[TypeDescription],
      columnType: ColumnType): Option[FooterColumn] = {
    val values = statistics.getNumberOfValues
    val nulls = rows - values
    if (nulls < 0) None
    else if (values == 0) Some(FooterColumn(nulls, rows, null, null, Presence.None))
    else
      extremes(statistics, column.stored, columnType).collect {
        case (least, greatest) if least.compare(greatest) <= 0 =>
          FooterColumn(nulls, rows, least, greatest, Presence.None)
      }
  }

  /**
   * The least and the greatest value, if readers return the stored values unchanged, in the order in which the library
   * compares them. Its statistics of floats depend on where a NaN stands, those of timestamps on time zones, and those
   * of char on padding that readers drop. It states a text through Java strings, as Iceberg does in bounds (S142), and
   * none that is longer than 1,024 bytes.
   */
  private def extremes(
      statistics: ColumnStatistics,
      stored: TypeDescription,
      columnType: ColumnType): Option[(ZoneValue, ZoneValue)] =
    (columnType, stored.getCategory, statistics) match {
      case (IntType, Category.BYTE | Category.SHORT | Category.INT, s: IntegerColumnStatistics) =>
        Some(ZoneValues.ofLong(s.getMinimum) -> ZoneValues.ofLong(s.getMaximum))
      case (LongType, Category.INT | Category.LONG, s: IntegerColumnStatistics) =>
        Some(ZoneValues.ofLong(s.getMinimum) -> ZoneValues.ofLong(s.getMaximum))
      case (BooleanType, Category.BOOLEAN, s: BooleanColumnStatistics) =>
        Some(ZoneValues.ofBoolean(s.getFalseCount == 0) -> ZoneValues.ofBoolean(s.getTrueCount > 0))
      case (DateType, Category.DATE, s: DateColumnStatistics) if s.getMinimumDayOfEpoch >= OneCalendar =>
        Some(ZoneValues.ofLong(s.getMinimumDayOfEpoch) -> ZoneValues.ofLong(s.getMaximumDayOfEpoch))
      case (decimal: DecimalType, Category.DECIMAL, s: DecimalColumnStatistics)
          if stored.getScale == decimal.scale && stored.getPrecision <= decimal.precision =>
        both(s.getMinimum, s.getMaximum) { value =>
          Try(ZoneValues.ofDecimal(value.bigDecimalValue.setScale(decimal.scale).unscaledValue, decimal)).toOption
        }
      case (StringType, Category.STRING, s: StringColumnStatistics) =>
        both(s.getMinimum, s.getMaximum)(text => Some(ZoneValues.ofString(text)).filterNot(ReplacedText.isInBound))
      case _ => None
    }

  private def both[T](least: T, greatest: T)(encode: T => Option[ZoneValue]): Option[(ZoneValue, ZoneValue)] =
    for {
      low <- Option(least).flatMap(encode)
      high <- Option(greatest).flatMap(encode)
    } yield low -> high
}
