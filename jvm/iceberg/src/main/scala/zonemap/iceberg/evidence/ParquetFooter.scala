// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.evidence

import scala.annotation.nowarn
import scala.jdk.CollectionConverters._

import org.apache.iceberg.Schema
import org.apache.iceberg.io.InputFile
import org.apache.iceberg.mapping.NameMapping
import org.apache.iceberg.parquet.ParquetSchemaUtil
import org.apache.iceberg.shaded.org.apache.parquet.column.Encoding
import org.apache.iceberg.shaded.org.apache.parquet.hadoop.metadata.{ColumnChunkMetaData, ParquetMetadata}
import org.apache.iceberg.shaded.org.apache.parquet.schema.{GroupType, MessageType, PrimitiveType, Type}

import zonemap.core.value.{ColumnType, Presence}

/** Reads the footer of a Parquet file through Iceberg's FileIO, with the Parquet library of Iceberg's runtime. */
private[evidence] object ParquetFooter {

  /** Libraries whose statistics of fixed-width columns are the values of the column chunk, as their sources show. */
  private val ExactWriters = Seq("parquet-mr version ", "parquet-cpp-arrow version ")

  /** The key under which Parquet's rewriter states the writers of the files whose column chunks it has copied. */
  private val OriginalWriter = "original.created.by"

  /**
   * The keys under which Spark states its version and Iceberg's Java library the schema, in files that Parquet's Java
   * library then writes. Other libraries use the second key too.
   */
  private val KeysOfJavaWriters = Seq("org.apache.spark.version", "iceberg.schema")

  /**
   * Parquet's Java library orders NaN above all other values and computes the least and the greatest value in this
   * order; its reader drops statistics with NaN. So statistics that it reads are of values without NaN. Other libraries
   * skip NaN, as this one did before 1.10. The last release whose code was read is 1.17.1.
   */
  private val OrderingNaN = "parquet-mr version 1\\.(1[0-6]\\.[0-9]+|17\\.[01]) .*".r

  /** See [[FileFooter.read]]. */
  def read(
      file: InputFile,
      schema: Schema,
      mapping: Option[NameMapping],
      wanted: Map[Int, ColumnType]): Option[FileFooter] = {
    val footer = FooterInput.parquet(file)
    val stored = footer.getFileMetaData.getSchema
    val hasIds = ParquetSchemaUtil.hasIds(stored)
    val resolved =
      if (hasIds) Option.when(stored.getFields.asScala.forall(haveIds))(stored)
      else mapping.map(ParquetSchemaUtil.applyNameMapping(stored, _))
    resolved.map { message =>
      val keys = footer.getFileMetaData.getKeyValueMetaData
      val isCopied = keys.containsKey(OriginalWriter)
      val writer = Option(footer.getFileMetaData.getCreatedBy).filterNot(_ => isCopied).getOrElse("")
      val isOfJavaWriter = footer.getBlocks.size <= 1 && KeysOfJavaWriters.exists(keys.containsKey)
      FileFooter(
        footer.getBlocks.asScala.iterator.map(_.getRowCount).sum,
        columns(footer, leaves(message), schema, wanted, isOfJavaWriter && OrderingNaN.matches(writer)),
        hasIds,
        ExactWriters.exists(writer.startsWith)
      )
    }
  }

  /** Whether a field and all fields in it have ids; the groups that repeat elements of lists and maps have none. */
  private def haveIds(field: Type): Boolean = {
    val isOfCollection = !field.isPrimitive && field.isRepetition(Type.Repetition.REPEATED)
    (field.getId != null || isOfCollection) &&
    (field.isPrimitive || field.asGroupType().getFields.asScala.forall(haveIds))
  }

  /** The columns that readers find by field ids and that have one value a row, in the order of the file. */
  private def leaves(message: MessageType): Seq[StoredColumn[PrimitiveType]] = {
    val paths = message.getPaths.asScala.toSeq
    paths.zipWithIndex.flatMap { case (names, place) =>
      val types = names.indices.map(depth => message.getType(names.take(depth + 1): _*))
      val isPlain = types.forall(t => t.getId != null && !t.isRepetition(Type.Repetition.REPEATED))
      Option.when(isPlain && types.init.forall(_.isInstanceOf[GroupType]))(
        StoredColumn(types.map(_.getId.intValue), place, types.last.asPrimitiveType()))
    }
  }

  private def columns(
      footer: ParquetMetadata,
      stored: Seq[StoredColumn[PrimitiveType]],
      schema: Schema,
      wanted: Map[Int, ColumnType],
      ordersNaN: Boolean): Map[Int, FooterColumn] =
    FileFooter.columns(schema, wanted, stored) { (column, columnType) =>
      val found = if (FooterTypes.states(columnType, column.stored)) whole(footer, column, columnType) else None
      found.map { all =>
        val provesNaN = ordersNaN && hasLevelsOfJava(footer, column)
        val mayHideNaN = columnType.mayHoldNaN && !provesNaN && all.least != null
        if (mayHideNaN) all.copy(nans = Presence.Unknown) else all
      }
    }

  /**
   * Whether the chunks of a column list the encoding that Parquet's Java library, and none that skips NaN, states for
   * levels that it does not write. Its tools copy chunks with the statistics and the keys of other writers, and some
   * leave no trace.
   */
  @nowarn("cat=deprecation") // of the encoding, which the library still lists
  private def hasLevelsOfJava(footer: ParquetMetadata, column: StoredColumn[PrimitiveType]): Boolean =
    footer.getBlocks.asScala.forall(_.getColumns.get(column.place).getEncodings.contains(Encoding.BIT_PACKED))

  /** The statistics of all row groups together; `None` if one of them lacks a part. */
  private def whole(
      footer: ParquetMetadata,
      column: StoredColumn[PrimitiveType],
      columnType: ColumnType): Option[FooterColumn] =
    FooterColumn.together(footer.getBlocks.asScala.toSeq.map { block =>
      Option(block.getColumns.get(column.place))
        .filter(chunk => chunk.getValueCount == block.getRowCount)
        .flatMap(ofChunk(_, column.stored, columnType))
    })

  private def ofChunk(
      chunk: ColumnChunkMetaData,
      primitive: PrimitiveType,
      columnType: ColumnType): Option[FooterColumn] = {
    val statistics = chunk.getStatistics
    val values = chunk.getValueCount
    if (statistics == null || !statistics.isNumNullsSet) None
    else if (statistics.getNumNulls == values) Some(FooterColumn(values, values, null, null, Presence.None))
    else if (!statistics.hasNonNullValue || statistics.getNumNulls < 0 || statistics.getNumNulls > values) None
    else
      for {
        least <- FooterTypes.encode(columnType, statistics.genericGetMin())
        greatest <- FooterTypes.encode(columnType, statistics.genericGetMax())
        if least.compare(greatest) <= 0
      } yield FooterColumn(statistics.getNumNulls, values, least, greatest, Presence.None)
  }
}
