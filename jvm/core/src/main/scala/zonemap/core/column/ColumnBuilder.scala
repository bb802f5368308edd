// SPDX-License-Identifier: Apache-2.0
package zonemap.core.column

import java.util.Arrays

import zonemap.core.container.{BlockedData, Container, ContainerWriter, SectionKey, SectionKind}
import zonemap.core.io.{Input, Output}
import zonemap.core.value.{Presence, UuidOrder, UuidType}

/** Collects the bounds of one column and writes its sections. Not thread-safe. */
final private[core] class ColumnBuilder(spec: ColumnSpec, maxBoundaries: Int) {
  private val store = BoundStore.of(spec.columnType.encoding)
  private var flags = new Array[Byte](32)
  private var rows = 0

  def add(known: ColumnBounds): Unit = {
    val b = if (known == null) ColumnBounds.NothingKnown else known
    val nans = if (spec.columnType.mayHoldNaN && b.nulls != Presence.All) b.nans else Presence.None
    val bounded = ColumnBuilder.usable(spec, b) && b.nulls != Presence.All && nans != Presence.All
    val lower = if (bounded) b.lower else null
    val upper = if (bounded) b.upper else null
    store.add(lower, upper)
    if (rows == flags.length) flags = Arrays.copyOf(flags, rows * 2)
    flags(rows) = BoundsFlags.encode(lower != null, upper != null, b.tight && bounded, b.nulls, nans).toByte
    rows += 1
  }

  def write(container: ContainerWriter): Unit = {
    val rowFlags = Arrays.copyOf(flags, rows)
    val coded = store.dictionary(rowFlags, Math.min(maxBoundaries, ColumnBuilder.boundaries(rows)))
    val lower = codes(rowFlags, BoundsFlags.Lower, Dictionary.NoLower, coded.lower)
    val upper = codes(rowFlags, BoundsFlags.Upper, Dictionary.NoUpper, coded.upper)
    if (CoarseBounds.pay(lower, upper, rowFlags, coded.dictionary.size)) {
      val coarse = CoarseBounds.of(coded.dictionary, lower, upper, rowFlags)
      writeColumn(container, ColumnDetail.Coarse, coarse.dictionary, coarse.lower, coarse.upper, coarse.rowFlags)
    } else {
      val detail = if (coded.exact) ColumnDetail.ExactCodes else ColumnDetail.Inexact
      writeColumn(container, detail, coded.dictionary, lower, upper, rowFlags)
      if (!coded.exact) writeExact(container, coded.dictionary, lower, upper, rowFlags)
    }
  }

  private def writeColumn(
      container: ContainerWriter,
      detail: ColumnDetail,
      dictionary: Dictionary,
      lower: Array[Char],
      upper: Array[Char],
      rowFlags: Array[Byte]): Unit = {
    val shape = ColumnShape(constant(lower), constant(upper), constantFlags(rowFlags))
    val head = new Output(1024)
    head.text(spec.columnType.text).byte(detail.code)
    shape.write(head)
    dictionary.write(head)
    ZoneTable.of(lower, upper, rowFlags, Math.max(rows, 1)).write(head)
    ZoneTable.of(lower, upper, rowFlags, Blocks.BlockRows).write(head)
    container.packed(SectionKey(SectionKind.ColumnHead, spec.fieldId), head.toBytes)
    writeArrays(container, detail, shape, lower, upper, rowFlags)
  }

  private def codes(rowFlags: Array[Byte], present: Int, absent: Int, code: Int => Int): Array[Char] = {
    val out = new Array[Char](rows)
    var row = 0
    while (row < rows) {
      out(row) = (if ((rowFlags(row) & present) != 0) code(row) else absent).toChar
      row += 1
    }
    out
  }

  private def constant(codes: Array[Char]): Option[Int] =
    if (codes.forall(_ == codes(0))) Some(codes.headOption.fold(0)(_.toInt)) else None

  private def constantFlags(rowFlags: Array[Byte]): Option[Int] =
    if (rowFlags.forall(_ == rowFlags(0))) Some(rowFlags.headOption.fold(0)(_.toInt)) else None

  private def writeArrays(
      container: ContainerWriter,
      detail: ColumnDetail,
      shape: ColumnShape,
      lower: Array[Char],
      upper: Array[Char],
      rowFlags: Array[Byte]): Unit = {
    if (detail == ColumnDetail.Coarse || !writePacked(container, shape, lower, upper))
      writePlain(container, detail, shape, lower, upper)
    if (shape.flags.isEmpty) container.plain(SectionKey(SectionKind.ColumnFlags, spec.fieldId), rowFlags)
  }

  /**
   * Writes packed codes if they save at least a quarter of the bytes; otherwise plain codes are used, because they are
   * faster to read.
   */
  private def writePacked(
      container: ContainerWriter,
      shape: ColumnShape,
      lower: Array[Char],
      upper: Array[Char]): Boolean = {
    val sides = Seq(
      Option.when(shape.lower.isEmpty)(PackedCodes.encode(lower, null)),
      Option.when(shape.upper.isEmpty)(PackedCodes.encode(upper, lower))).flatten
    val isSmaller = sides.nonEmpty && sides.map(_.length.toLong).sum * 4 <= sides.size * 2L * rows * 3
    if (isSmaller) {
      val out = new Output(rows * 4)
      sides.foreach(out.raw)
      container.plain(SectionKey(SectionKind.PackedColumnCodes, spec.fieldId), out.toBytes)
    }
    isSmaller
  }

  private def writePlain(
      container: ContainerWriter,
      detail: ColumnDetail,
      shape: ColumnShape,
      lower: Array[Char],
      upper: Array[Char]): Unit = {
    val out = new Output(rows * 4 + Container.Alignment)
    def side(codes: Array[Char]): Unit =
      if (detail.codeBytes == 1) codes.foreach(c => out.byte(c & 0xff)) else codes.foreach(c => out.short(c))
    if (shape.lower.isEmpty) side(lower)
    if (shape.upper.isEmpty) {
      out.pad(Container.Alignment)
      side(upper)
    }
    if (out.size > 0) container.plain(SectionKey(SectionKind.ColumnCodes, spec.fieldId), out.toBytes)
  }

  /**
   * Writes the exact bounds packed for random access, unless frames of the column would be much smaller, as estimated
   * from a sample.
   */
  private def writeExact(
      container: ContainerWriter,
      dictionary: Dictionary,
      lower: Array[Char],
      upper: Array[Char],
      rowFlags: Array[Byte]): Unit = {
    val starts = 0 until rows by ExactFrames.FrameRows
    val sample = starts.by(Math.max(1, starts.size / ColumnBuilder.SampledFrames) * ExactFrames.FrameRows)
    def framesBytes = frames(sample).sizeBytes * starts.size / sample.size
    store.packed(dictionary, lower, upper, rowFlags).filter(_.length * 2L <= framesBytes * 3L) match {
      case Some(packed) => container.plain(SectionKey(SectionKind.PackedExactBounds, spec.fieldId), packed)
      case None         => frames(starts).write(container)
    }
  }

  private def frames(starts: Range): BlockedData.Writer = {
    val frames = new BlockedData.Writer(
      SectionKey(SectionKind.ExactIndex, spec.fieldId),
      SectionKey(SectionKind.ExactData, spec.fieldId))
    starts.foreach(from => frames.add(store.frame(from, Math.min(rows, from + ExactFrames.FrameRows))))
    frames
  }
}

private object ColumnBuilder {

  /**
   * The number of boundaries that the dictionary of a segment may have. With more boundaries, fewer proofs need exact
   * bounds, which may cost decoding a frame. With fewer boundaries, the dictionary uses less memory once a query names
   * its column (one boundary per 16 rows is half a byte per row for longs), and the codes of a block lie closer
   * together, so that a column that follows the order of commits needs one byte per code. Segments of few rows keep
   * every bound as a boundary.
   */
  def boundaries(rows: Int): Int =
    if (rows <= FewRows) Dictionary.MaxBoundaries else Math.max(LeastBoundaries, rows / 16)

  private val FewRows = 256

  private val SampledFrames = 8

  /** With this many boundaries, codes differ by less than 256. */
  private val LeastBoundaries = 120

  /**
   * Whether bounds can prove anything: they must not be inverted, and bounds of uuids must both be present and in order
   * in both orders of uuids.
   */
  def usable(spec: ColumnSpec, bounds: ColumnBounds): Boolean =
    if (spec.columnType == UuidType) UuidOrder.usable(bounds.lower, bounds.upper)
    else bounds.lower == null || bounds.upper == null || bounds.lower.compare(bounds.upper) <= 0
}

/** The precision in which a column is stored. `codeBytes` is the width of a code in its arrays. */
sealed abstract private[core] class ColumnDetail(val code: Int, val codeBytes: Int)

private[core] object ColumnDetail {

  /** Some bounds lie between boundaries, so exact bounds are stored besides the codes, packed or in frames. */
  case object Inexact extends ColumnDetail(0, 2)

  /** Every bound is a boundary. */
  case object ExactCodes extends ColumnDetail(1, 2)

  /** Every bound is rounded outward to a boundary, see [[CoarseBounds]]. */
  case object Coarse extends ColumnDetail(2, 1)

  def ofCode(code: Int): ColumnDetail =
    Seq(Inexact, ExactCodes, Coarse).find(_.code == code).getOrElse(Input.damaged(s"a column of detail $code"))
}

/** The arrays of a column that hold the same value for every row: their value, or None for an array that is stored. */
final private[column] case class ColumnShape(lower: Option[Int], upper: Option[Int], flags: Option[Int]) {

  def write(out: Output): Unit =
    Seq(lower, upper, flags).foreach(constant => out.optional(constant)(v => out.short(v)))
}

private[column] object ColumnShape {

  def read(in: Input): ColumnShape =
    ColumnShape(in.optional(in.short()), in.optional(in.short()), in.optional(in.short()))
}
