// SPDX-License-Identifier: Apache-2.0
package zonemap.core.segment

import java.nio.{ByteBuffer, ByteOrder}

import zonemap.core.{Rng, TestModel}
import zonemap.core.column.{Bitmap, ColumnChoice, ColumnSpec}
import zonemap.core.container.{Container, ContainerReader, SectionKey, SectionKind}
import zonemap.core.eval.SegmentEvaluator
import zonemap.core.fact.{FactFile, FactKey, FactKind, KeysOfFile}
import zonemap.core.io.{ByteSource, Checksums, CorruptIndexException, Output, Zstd}
import zonemap.core.predicate.{ColumnId, ColumnRef, Compare, CompareOp, Or, StartsWith}
import zonemap.core.value.{BytesValue, DoubleType, LongType, LongValue, StringType}
import zonemap.core.version.{FactRef, SegmentRef, VersionFile}

/**
 * Forged files with valid checksums whose counts, lengths and sizes claim far more data than the file holds. A seed
 * always gives the same files.
 */
object ForgedFiles {

  /** @param read calls every read method on the file */
  final case class Forged(name: String, bytes: Array[Byte], read: Array[Byte] => Unit)

  private val columns = Seq(ColumnSpec(1, LongType), ColumnSpec(2, StringType), ColumnSpec(3, DoubleType))
  private val GB = 1L << 30

  def all(seed: Long): Iterator[Forged] = {
    val rng = new Rng(new java.util.SplittableRandom(seed))
    val data = segment(rng)
    val deletes = deleteSegment()
    versions.iterator ++ facts.iterator ++
      sections(data, Container.KindData, rng).map { case (name, bytes) =>
        Forged(s"data segment, $name", bytes, readSegment)
      } ++
      sections(deletes, Container.KindDeletes, rng).map { case (name, bytes) =>
        Forged(s"delete segment, $name", bytes, DeleteSegment.open(_))
      }
  }

  /** Excessive numbers that replace stored ones: as varints for counts, and with fixed width for the other fields. */
  private val blown: Seq[(String, Array[Byte])] = Seq(
    "varint 2^31-1" -> new Output().varint(Int.MaxValue).toBytes,
    "varint 50 million" -> new Output().varint(50000000).toBytes,
    "int 2^31-1" -> new Output().int(Int.MaxValue).toBytes,
    "int -1" -> new Output().int(-1).toBytes,
    "int 2^28" -> new Output().int(1 << 28).toBytes,
    "long 2^62" -> new Output().long(1L << 62).toBytes
  )

  /**
   * For each number, the bytes with the number written over the ones at `at`, and with the number in place of one byte.
   */
  private def mutations(bytes: Array[Byte], at: Int): Seq[(String, Array[Byte])] =
    blown.flatMap { case (name, number) =>
      val over = bytes.take(at) ++ number ++ bytes.drop(at + number.length)
      val instead = bytes.take(at) ++ number ++ bytes.drop(at + 1)
      Seq(s"$name over byte $at" -> over, s"$name for byte $at" -> instead)
    }

  private def versions: Seq[Forged] = {
    val ref = SegmentRef("segments/day/1-2-aa.zm", "0123456789abcdef", 12345L, Seq(0, 1, 5))
    val version = VersionFile(
      "uuid",
      5L,
      "list",
      9L,
      Seq(ref),
      Seq(ref.copy(relativePath = "segments/deletes/1-2-bb.zmd")),
      3L,
      1L,
      Seq(FactRef("facts/values/7/x.zmf", "00ff", 123, FactKind.Values, ColumnId(7, Some(LongValue(3))), 10, 9)),
      ColumnChoice.only(Seq(1, 2))
    )
    val bytes = VersionFile.encode(version)
    val payload = bytes.drop(VersionFile.HeaderBytes)
    def whole(forged: Array[Byte]) =
      bytes.take(10) ++ new Output().int(forged.length).int(Checksums.crc32c(forged)).toBytes ++ forged
    def read(b: Array[Byte]): Unit = {
      VersionFile.lengthOf(b.take(VersionFile.HeaderBytes))
      val decoded = VersionFile.decode(b)
      decoded.segments.foreach(s => s.liveManifests.forall(_ < 1000))
    }
    Forged("version of 2^31-1 bytes", bytes.patch(10, new Output().int(Int.MaxValue).toBytes, 4), read) +:
      payload.indices.flatMap(mutations(payload, _)).map { case (name, p) => Forged(s"version, $name", whole(p), read) }
  }

  private def facts: Seq[Forged] = FactKind.values.flatMap { kind =>
    val columnType = if (kind == FactKind.NGrams) StringType else LongType
    val fact = kind match {
      case FactKind.Bloom | FactKind.NGrams => Array.fill[Byte](32)(7)
      case FactKind.Bounds => new Output().long(9).long(0).long(0).byte(1).long(1).byte(1).long(2).toBytes
      case FactKind.Ranges => new Output().byte(0).varint(1).long(1).long(2).toBytes
      case FactKind.Keys   => new Output().byte(1).long(1).long(2).toBytes
      case FactKind.Values => new Output().byte(0).varint(2).long(1).long(2).toBytes
    }
    val key = FactKey.of("f", 1)
    val bytes = FactFile.encode(kind, ColumnId(3), columnType, Seq(key -> fact))
    val headLength = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).getInt(10)
    val (head, data) = (bytes.slice(18, 18 + headLength), bytes.drop(18 + headLength))
    def whole(h: Array[Byte], d: Array[Byte]) =
      bytes.take(10) ++ new Output().int(h.length).int(Checksums.crc32c(h)).toBytes ++ h ++ d
    def read(b: Array[Byte]): Unit = {
      val file = FactFile.open(ByteSource.ofBytes(b))
      file.keysIterator.flatMap(file.find).foreach {
        case keys: KeysOfFile => keys.index.holding(Array(0L, 1L << 40, -1L))
        case _                => ()
      }
    }
    // The head ends with the length and the checksum of the fact.
    def withFact(d: Array[Byte]) =
      whole(head.dropRight(8) ++ new Output().int(d.length).int(Checksums.crc32c(d)).toBytes, d)
    head.indices.flatMap(mutations(head, _)).map { case (name, h) =>
      Forged(s"$kind facts, head, $name", whole(h, data), read)
    } ++
      data.indices.flatMap(mutations(data, _)).map { case (name, d) => Forged(s"$kind fact, $name", withFact(d), read) }
  }

  /** All sections of a container; each section in turn is replaced by forged ones. */
  private def sections(whole: Array[Byte], kind: Int, rng: Rng): Iterator[(String, Array[Byte])] = {
    val reader = ContainerReader.open(ByteSource.ofBytes(whole), kind)
    val raw = reader.keys.toSeq.sortBy(k => (k.kind.code, k.id)).map { key =>
      val buffer = if (SectionKind.checkedByBlock(key.kind)) reader.stored(key) else reader.section(key)
      val bytes = new Array[Byte](buffer.remaining)
      buffer.get(bytes)
      key -> bytes
    }
    def container(change: PartialFunction[SectionKey, Section]): Array[Byte] =
      write(kind, raw.map { case (key, bytes) => key -> change.applyOrElse(key, (_: SectionKey) => Section.of(bytes)) })
    raw.iterator.flatMap { case (key, bytes) =>
      def forged(section: Section) = container { case `key` => section }
      val offsets = bytes.indices.take(10) ++ Seq.fill(5)(rng.int(Math.max(1, bytes.length))).filter(_ < bytes.length)
      val fields = offsets.distinct.iterator.flatMap(mutations(bytes, _)).map { case (name, b) =>
        s"$key, $name" -> forged(Section.of(b))
      }
      val frames = Iterator(
        s"$key, a frame that promises 1 GB" -> forged(Section(zeros(64, GB), GB, compressed = true)),
        s"$key, a frame of 1 GB" -> forged(Section(zeros(GB, GB), GB, compressed = true)),
        s"$key, a frame of 64 MB" -> forged(Section(zeros(64 << 20, 64 << 20), 64 << 20, compressed = true)),
        s"$key, a frame of 2 MB" -> forged(Section(zeros(2 << 20, 2 << 20), 2 << 20, compressed = true)),
        s"$key, a raw length of 2^31-1" -> forged(Section(bytes, Int.MaxValue, compressed = false)),
        s"$key, empty" -> forged(Section.of(Array.emptyByteArray))
      )
      fields ++ frames
    } ++ counted(raw, container, kind)
  }

  /**
   * Lists with as many items of the shortest form as fit into a frame of two megabytes, and row counts without row
   * data.
   */
  private def counted(
      raw: Seq[(SectionKey, Array[Byte])],
      container: PartialFunction[SectionKey, Section] => Array[Byte],
      kind: Int): Seq[(String, Array[Byte])] = {
    val lists = raw
      .map(_._1)
      .filter(k => Set[SectionKind](SectionKind.Manifests, SectionKind.Partitions, SectionKind.DeleteFiles)(k.kind))
    val full = for (key <- lists; itemBytes <- Seq(5, 42, 48, 120)) yield {
      val items = new Output().varint((2 << 20) / itemBytes).toBytes ++ new Array[Byte]((2 << 20) - 8)
      val section = Section(Zstd.compress(items), items.length, compressed = true)
      s"$key, ${(2 << 20) / itemBytes} items of $itemBytes bytes" -> container { case `key` => section }
    }
    val rows =
      if (kind != Container.KindData) Nil
      else
        Seq(1 << 20, 1 << 28, Int.MaxValue).map { rows =>
          val meta = raw.find(_._1.kind == SectionKind.Meta).get._2
          s"$rows rows" -> container {
            case SectionKey(SectionKind.Meta, _) => Section.of(new Output().int(rows).toBytes ++ meta.drop(4))
            case SectionKey(SectionKind.PathIndex, _) =>
              val length = 16L * ((rows.toLong + 255) / 256)
              Section(zeros(64, length), length, compressed = true)
          }
        }
    full ++ rows
  }

  private final case class Section(stored: Array[Byte], rawLength: Long, compressed: Boolean)

  private object Section {
    def of(raw: Array[Byte]): Section = Section(raw, raw.length, compressed = false)
  }

  /** Encodes a container with valid checksums. */
  private def write(kind: Int, sections: Seq[(SectionKey, Section)]): Array[Byte] = {
    val out = new Output(4096)
    out.raw(Container.Magic).short(Container.FormatVersion).short(kind)
    out.int(Checksums.crc32c(out.toBytes)).pad(Container.HeaderBytes)
    val table = new Output(4096)
    sections.foreach { case (key, section) =>
      out.pad(Container.Alignment)
      val crc = if (SectionKind.checkedByBlock(key.kind)) 0 else Checksums.crc32c(section.stored)
      table.short(key.kind.code).short(if (section.compressed) 1 else 0).int(key.id)
      table.long(out.size.toLong).long(section.stored.length.toLong).long(section.rawLength).int(crc)
      out.raw(section.stored)
    }
    out.pad(8)
    val rows = table.toBytes
    out.raw(rows).int(rows.length).int(Checksums.crc32c(rows)).raw(Container.Magic)
    out.toBytes
  }

  /** A zstd frame of `length` zeros whose header declares `promised` bytes; its blocks of 128 KiB repeat one byte. */
  private def zeros(length: Long, promised: Long): Array[Byte] = {
    val out = new Output(64)
    out.int(0xfd2fb528).byte(0xe0).long(promised)
    val block = 128 << 10
    var left = length
    while (left > 0) {
      val size = Math.min(left, block.toLong).toInt
      left -= size
      val header = (if (left == 0) 1 else 0) | (1 << 1) | (size << 3)
      out.byte(header & 0xff).byte((header >>> 8) & 0xff).byte((header >>> 16) & 0xff).byte(0)
    }
    out.toBytes
  }

  private def segment(rng: Rng): Array[Byte] = {
    val builder = new SegmentBuilder(columns, 3)
    builder.beginManifest(TestModel.manifest(0))
    val partition = builder.partition(0, Array("x", Int.box(3), new java.math.BigDecimal("1.25")))
    (0 until 300).foreach(r =>
      builder.add(TestModel.file(r, partition), columns.map(c => TestModel.anyBounds(c.columnType, rng)).toArray))
    builder.build()
  }

  private def deleteSegment(): Array[Byte] = {
    val builder = new DeleteSegmentBuilder
    builder.beginManifest(TestModel.manifest(0))
    val partition = builder.partition(0, Array("x"))
    (0 until 3).foreach { i =>
      val (longs, bytes) = (Map(1 -> 5L), Map(1 -> Array[Byte](1)))
      builder.add(
        DeleteFileEntry(
          2,
          s"d$i",
          "PARQUET",
          1,
          1,
          partition,
          1,
          1,
          0,
          Array(4L),
          Array(1),
          "f",
          4L,
          9L,
          longs,
          longs,
          longs,
          longs,
          bytes,
          bytes))
    }
    builder.build()
  }

  /** Calls every read method that planning uses, for a few rows; the test measures structures that cover all rows. */
  private def readSegment(bytes: Array[Byte]): Unit = {
    val s = Segment.open(bytes)
    val some = (0 until Math.min(s.rows, 20)) ++ Option.when(s.rows > 20)(s.rows - 1)
    val asks = Seq[() => Any](
      () => s.manifests,
      () => s.partitions.map(_.values.toSeq.map(String.valueOf).mkString.take(1)),
      () => some.map(s.partitionOrdinal),
      () => some.map(r => (s.format(r), s.fileSizeBytes(r), s.recordCount(r), s.firstRowId(r), s.sortOrderId(r))),
      () => some.map(r => Option(s.splitOffsets(r)).map(_.length)),
      () => some.foreach(s.newPathReader().path),
      () => s.columnIds.foreach(id => s.root(id)),
      () => some.map(r => columns.map(c => s.column(c.fieldId).map(_.bounds(r)))),
      () => s.load(columns.map(_.fieldId).toSet),
      () =>
        SegmentEvaluator.mayMatch(
          s,
          Or(
            Seq(
              Compare(ColumnRef(1, LongType, "a"), CompareOp.Gt, LongValue(3)),
              StartsWith(ColumnRef(2, StringType, "b"), BytesValue("a".getBytes)))),
          Bitmap.full(s.rows)
        )
    )
    val refused = asks.flatMap { ask =>
      try { ask(); None }
      catch {
        case e: CorruptIndexException => Some(e)
        // Codes and ordinals that are out of range are refused only when they are used.
        case _: IndexOutOfBoundsException | _: ArithmeticException => None
      }
    }
    refused.headOption.foreach(throw _)
  }
}
