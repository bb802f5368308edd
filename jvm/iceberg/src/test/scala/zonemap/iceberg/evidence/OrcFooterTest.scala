// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.evidence

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files => JavaFiles}
import java.time.LocalDate

import scala.concurrent.{Await, Future}
import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.iceberg.{Files, Schema}
import org.apache.iceberg.mapping.{MappingUtil, NameMapping}
import org.apache.iceberg.shaded.org.apache.orc.{OrcFile, TypeDescription}
import org.apache.iceberg.shaded.org.apache.orc.storage.common.`type`.HiveDecimal
import org.apache.iceberg.shaded.org.apache.orc.storage.ql.exec.vector._
import org.apache.iceberg.types.{Type, Types}
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.value._

/** Checks what the footers of ORC files state, for files that Apache ORC for Java has written. */
class OrcFooterTest extends AnyFunSuite {
  private val folder = JavaFiles.createTempDirectory("orc-footers")
  private val conf = new Configuration()

  /** Writes a file: each stripe is a list of rows, each row the values of all leaves in their order; null is null. */
  private def write(schema: TypeDescription, stripes: Seq[Seq[Any]]*): Path = {
    val path = new Path(folder.toString, s"${JavaFiles.list(folder).count()}.orc")
    val writer = OrcFile.createWriter(path, OrcFile.writerOptions(conf).setSchema(schema))
    stripes.foreach { rows =>
      val batch = schema.createRowBatch()
      rows.foreach { row =>
        batch.cols.zip(row).foreach { case (vector, value) => set(vector, batch.size, value) }
        batch.size += 1
      }
      writer.addRowBatch(batch)
      writer.writeIntermediateFooter(): Unit
    }
    writer.close()
    path
  }

  private def set(vector: ColumnVector, row: Int, value: Any): Unit =
    (vector, value) match {
      case (struct: StructColumnVector, Seq(inner)) => set(struct.fields(0), row, inner)
      case (_, null) =>
        vector.noNulls = false
        vector.isNull(row) = true
      case (v: LongColumnVector, n: Long)             => v.vector(row) = n
      case (v: DoubleColumnVector, n: Double)         => v.vector(row) = n
      case (v: DecimalColumnVector, n: String)        => v.set(row, HiveDecimal.create(n))
      case (v: BytesColumnVector, bytes: Array[Byte]) => v.setVal(row, bytes)
      case (v: BytesColumnVector, word: String)       => v.setVal(row, word.getBytes(UTF_8))
      case (v: TimestampColumnVector, millis: Long)   => v.set(row, new java.sql.Timestamp(millis))
      case other                                      => fail(s"no such vector: $other")
    }

  private def read(
      path: Path,
      schema: Schema,
      wanted: Map[Int, ColumnType],
      mapping: Option[NameMapping] = None): Option[FileFooter] =
    OrcFooter.read(
      Files.localInput(path.toUri.getPath),
      schema,
      mapping.orElse(Some(MappingUtil.create(schema))),
      wanted)

  private def schemaOf(fields: (String, Type)*): Schema =
    new Schema(fields.zipWithIndex.map { case ((name, kind), i) =>
      Types.NestedField.optional(i + 1, name, kind)
    }.asJava)

  /** What a file of one column `c` states of it. */
  private def column(orc: String, kind: Type, columnType: ColumnType, stripes: Seq[Any]*): Option[FooterColumn] = {
    val path = write(TypeDescription.fromString(s"struct<c:$orc>"), stripes.map(_.map(Seq(_))): _*)
    read(path, schemaOf("c" -> kind), Map(1 -> columnType)).get.columns.get(1)
  }

  private def stated(nulls: Long, values: Long, least: ZoneValue, greatest: ZoneValue) =
    Some(FooterColumn(nulls, values, least, greatest, Presence.None))

  private def day(date: String): Long = LocalDate.parse(date).toEpochDay
  private def long(n: Long): ZoneValue = ZoneValues.ofLong(n)
  private val (integer, bigint, text) = (Types.IntegerType.get(), Types.LongType.get(), Types.StringType.get())

  test("the least and the greatest value and the nulls of all stripes") {
    assert(column("int", integer, IntType, Seq(3L, null, 9L), Seq(-2L)) == stated(1, 4, long(-2), long(9)))
    assert(column("smallint", integer, IntType, Seq(3L)) == stated(0, 1, long(3), long(3)))
    assert(column("bigint", bigint, LongType, Seq(1L << 40, 5L)) == stated(0, 2, long(5), long(1L << 40)))
    assert(column("int", bigint, LongType, Seq(7L)) == stated(0, 1, long(7), long(7)), "a promotion")
    assert(column("boolean", Types.BooleanType.get(), BooleanType, Seq(1L, 1L)) == stated(0, 2, long(1), long(1)))
    assert(column("boolean", Types.BooleanType.get(), BooleanType, Seq(1L, 0L)) == stated(0, 2, long(0), long(1)))
    val days = Seq(day("1583-01-01"), day("2024-02-29"))
    assert(column("date", Types.DateType.get(), DateType, days) == stated(0, 2, long(days.head), long(days(1))))
    val words = Seq("b", "a", "\uc218", null)
    assert(
      column("string", text, StringType, words) == stated(
        1,
        4,
        ZoneValues.ofString("a"),
        ZoneValues.ofString("\uc218")))
    assert(column("int", integer, IntType, Seq(null, null)) == stated(2, 2, null, null))
    assert(column("int", integer, IntType) == stated(0, 0, null, null), "no row")
  }

  test("decimals have the scale of the column") {
    def decimals(orc: String, precision: Int) =
      column(orc, Types.DecimalType.of(precision, 2), DecimalType(precision, 2), Seq("1.5", "-20"))
    def value(unscaled: Long, precision: Int) =
      ZoneValues.ofDecimal(java.math.BigInteger.valueOf(unscaled), DecimalType(precision, 2))
    Seq(12, 30).foreach(p => assert(decimals(s"decimal($p,2)", p) == stated(0, 2, value(-2000, p), value(150, p))))
    assert(decimals("decimal(12,2)", 30) == stated(0, 2, value(-2000, 30), value(150, 30)), "a wider precision")
    assert(decimals("decimal(12,3)", 12).isEmpty)
    assert(decimals("decimal(14,2)", 12).isEmpty)
  }

  test("values that the statistics may not describe") {
    def bytes(codes: Int*) = codes.map(_.toByte).toArray
    val unproven = Seq(
      ("float", Types.FloatType.get(), FloatType, Seq(1.0, 2.0)),
      ("double", Types.DoubleType.get(), DoubleType, Seq(Double.NaN, 2.0)),
      ("timestamp", Types.TimestampType.withoutZone(), TimestampType, Seq(0L, 1L)),
      ("char(4)", text, StringType, Seq("ab", "c")),
      ("varchar(4)", text, StringType, Seq("ab", "c")),
      ("date", Types.DateType.get(), DateType, Seq(day("1582-12-31"), day("2024-01-01"))),
      ("string", text, StringType, Seq(bytes(0xff, 0x41), "a")),
      ("string", text, StringType, Seq("z", bytes(0x41, 0xb0))),
      ("string", text, StringType, Seq("a", "b" * 1025)),
      ("bigint", integer, IntType, Seq(1L)),
      ("string", integer, IntType, Seq("1")),
      ("binary", Types.BinaryType.get(), BinaryType, Seq("a"))
    )
    unproven.foreach { case (orc, kind, columnType, values) =>
      assert(column(orc, kind, columnType, values).isEmpty, orc)
    }
  }

  test("stripes that another file's writer has compared by replaced texts") {
    val schema = TypeDescription.fromString("struct<c:string>")
    val parts =
      Seq(Array(0xff.toByte, 0x41.toByte), "\ud83d\ude00".getBytes(UTF_8)).map(v => write(schema, Seq(Seq(v))))
    val merged = new Path(folder.toString, "merged.orc")
    assert(OrcFile.mergeFiles(merged, OrcFile.writerOptions(conf), parts.asJava).size == 2)
    assert(read(merged, schemaOf("c" -> text), Map(1 -> StringType)).get.columns.isEmpty)
  }

  test("columns are found by the names of the mapping, or by the ids of the file") {
    val nested = new Schema(
      Types.NestedField.optional(1, "s", Types.StructType.of(Types.NestedField.optional(2, "k", integer))),
      Types.NestedField.optional(3, "k", integer))
    val orc = TypeDescription.fromString("struct<s:struct<k:int>,k:int>")
    val path = write(orc, Seq(Seq(Seq(4L), 5L), Seq(null, 6L)))
    val wanted = Map(2 -> IntType, 3 -> IntType)
    val found = read(path, nested, wanted).get
    assert(
      found.columns == Map(
        2 -> FooterColumn(1, 2, long(4), long(4), Presence.None),
        3 -> FooterColumn(0, 2, long(5), long(6), Presence.None)))
    assert(!found.hasIds && found.records == 2 && !found.statesExtremes)
    assert(OrcFooter.read(Files.localInput(path.toUri.getPath), nested, None, wanted).isEmpty, "no mapping")

    def withIds(ids: Int*): Option[FileFooter] = {
      val marked = TypeDescription.fromString("struct<a:int,b:int>")
      marked.getChildren.asScala.zip(ids).foreach { case (child, id) => child.setAttribute("iceberg.id", s"$id") }
      read(write(marked, Seq(Seq(1L, 2L))), schemaOf("b" -> integer, "a" -> integer), Map(1 -> IntType, 2 -> IntType))
    }
    val ofIds = withIds(1, 2).get
    assert(ofIds.hasIds && ofIds.columns.view.mapValues(_.least).toMap == Map(1 -> long(1), 2 -> long(2)))
    assert(withIds(1).isEmpty, "some fields have ids")
    assert(withIds(1, 1).get.columns.isEmpty, "two columns of one id")
  }

  test("files whose columns readers may find by position, or elsewhere") {
    Seq(
      "struct<_col0:int,_col1:int>",
      "struct<a:int,A:int>",
      "struct<operation:int,originalTransaction:int,bucket:int,rowId:int,currentTransaction:int,row:int>"
    ).foreach { orc =>
      val schema = TypeDescription.fromString(orc)
      val names = schema.getFieldNames.asScala.toSeq
      val path = write(schema, Seq(names.map(_ => 1L)))
      assert(read(path, schemaOf(names.map(_ -> integer): _*), Map(1 -> IntType)).isEmpty, orc)
    }
  }

  test("statistics of releases that compared texts otherwise") {
    val path = write(TypeDescription.fromString("struct<c:string>"), Seq(Seq("a")))
    val file = java.nio.file.Paths.get(path.toUri.getPath)
    val bytes = JavaFiles.readAllBytes(file)
    val written = bytes.lastIndexOfSlice(Array[Byte](0x30, OrcFile.CURRENT_WRITER.getId.toByte)) + 1
    Seq(OrcFile.CURRENT_WRITER, OrcFile.WriterVersion.HIVE_8732, OrcFile.WriterVersion.ORIGINAL).foreach { version =>
      JavaFiles.write(file, bytes.updated(written, version.getId.toByte))
      val found = read(path, schemaOf("c" -> text), Map(1 -> StringType)).get
      assert(found.columns.contains(1) == (version != OrcFile.WriterVersion.ORIGINAL), version)
    }
  }

  test("an encrypted column, of which readers without the key have masked values") {
    // Spark's ORC library writes the file, because Iceberg's runtime has no masks
    import org.apache.orc.{EncryptionAlgorithm, InMemoryKeystore, OrcFile => SparksFile, TypeDescription => SparksType}
    val schema = SparksType.fromString("struct<a:int,c:int>")
    val keys = new InMemoryKeystore().addKey("pii", EncryptionAlgorithm.AES_CTR_128, Array.fill(16)(7.toByte))
    val path = new Path(folder.toString, "encrypted.orc")
    val options = SparksFile.writerOptions(conf).setSchema(schema).setKeyProvider(keys).encrypt("pii:c")
    val writer = SparksFile.createWriter(path, options)
    val batch = schema.createRowBatch()
    batch.size = 1
    writer.addRowBatch(batch)
    writer.close()
    // the library searches for a key without end if it is asked for the statistics
    val found = Future(read(path, schemaOf("a" -> integer, "c" -> integer), Map(1 -> IntType, 2 -> IntType)))
    assert(Await.result(found, 20.seconds).get.columns.isEmpty)
  }

  test("a tail that is longer than the first read") {
    val names = (0 until 3000).map(i => f"column_of_a_long_name_$i%04d")
    val path = write(
      TypeDescription.fromString(names.map(n => s"$n:int").mkString("struct<", ",", ">")),
      Seq(names.indices.map(_.toLong)))
    val columns = read(path, schemaOf(names.map(_ -> integer): _*), names.indices.map(i => i + 1 -> IntType).toMap)
    assert(columns.get.columns(3000).greatest == long(2999))
    assert(JavaFiles.size(java.nio.file.Paths.get(path.toUri.getPath)) > 64 * 1024)
  }

  test("damaged bytes are an error") {
    val path = write(TypeDescription.fromString("struct<c:int>"), Seq(Seq(1L)))
    val file = java.nio.file.Paths.get(path.toUri.getPath)
    val bytes = JavaFiles.readAllBytes(file)
    Seq(Array.emptyByteArray, bytes.take(3), bytes.dropRight(1), bytes.map(b => (b ^ 0x55).toByte)).foreach { damaged =>
      JavaFiles.write(file, damaged)
      assertThrows[Exception](read(path, schemaOf("c" -> integer), Map(1 -> IntType)))
    }
  }
}
