// SPDX-License-Identifier: Apache-2.0
package zonemap.core.column

import zonemap.core.container.{BlockedData, Container, ContainerReader, SectionKey, SectionKind}
import zonemap.core.io.Input
import zonemap.core.value.{ColumnType, LongValue, Presence, ZoneValue}

/**
 * The bounds of one column over the rows of a segment. Values equal the values given to the builder, except for values
 * that `SegmentBuilder.add` normalises. Reading a bound is O(1), except for columns with more distinct values than the
 * dictionary holds, where it may decode a frame. Thread-safe.
 */
final private[zonemap] class BoundsColumn private[core] (container: ContainerReader, val fieldId: Int, rows: Int) {
  private val head = BoundsHead.read(container, fieldId, rows)

  val columnType: ColumnType = head.columnType

  private def detail = head.detail

  /** Whether every bound is a boundary of the dictionary, so that codes alone determine the bounds. */
  private[core] val exactCodes: Boolean = detail != ColumnDetail.Inexact

  private def shape = head.shape

  private[core] val dictionary: Dictionary = head.dictionary
  private def rootZone = head.rootZone

  private[core] val blocks: ZoneTable = head.blocks

  private lazy val codes = Input.decoding(s"codes of column $fieldId")(loadCodes())
  private[core] def lowerCodes: CodeArray = codes._1
  private[core] def upperCodes: CodeArray = codes._2

  private lazy val flagBytes = shape.flags match {
    case Some(_) => null
    case None    => sized(SectionKey(SectionKind.ColumnFlags, fieldId), rows)
  }

  private lazy val frames = Input.decoding(s"column $fieldId") {
    val blocked = new BlockedData.Reader(
      container,
      SectionKey(SectionKind.ExactIndex, fieldId),
      SectionKey(SectionKind.ExactData, fieldId))
    if (ExactFrames.fetchedWhole(container, fieldId).contains(SectionKey(SectionKind.ExactData, fieldId)))
      blocked.hold()
    new ExactFrames(blocked, columnType.encoding, rows)
  }

  /** The exact bounds in the form for random access; null if they are stored in frames. */
  private lazy val packedExact: PackedExact = {
    val key = SectionKey(SectionKind.PackedExactBounds, fieldId)
    (dictionary, Option.when(container.has(key))(container.section(key))) match {
      case (_, None) => null
      case (longs: LongDictionary, Some(bytes)) =>
        Input.decoding(s"exact bounds of column $fieldId")(new PackedExact(bytes, longs, rows))
      case (_: BytesDictionary, Some(_)) => Input.damaged(s"exact bounds of column $fieldId as numbers")
    }
  }

  /** The bounds as numbers, for one evaluation; None for a column of bytes. */
  private[core] def longs(): Option[LongBounds] = dictionary match {
    case _: BytesDictionary    => None
    case longs: LongDictionary => Some(new LongBounds(longs, exactLongs))
  }

  /** The reader of exact bounds; null if codes are exact, because nothing reads them then. */
  private def exactLongs: ExactLongs = if (exactCodes) null else if (packedExact != null) packedExact else frames.longs

  /** Loads all sections of the column. */
  def load(): Unit = {
    codes: Unit
    flagBytes: Unit
    if (!exactCodes && packedExact == null) frames.hold()
  }

  /** Bounds that cover all rows of the segment. */
  val root: ColumnBounds =
    if (rows == 0) ColumnBounds.NothingKnown
    else {
      val f = rootZone.flags(0).toInt
      ColumnBounds(
        rootBound(rootZone.lower(0)),
        rootBound(rootZone.upper(0)),
        BoundsFlags.isTight(f),
        BoundsFlags.nulls(f),
        BoundsFlags.nans(f))
    }

  /** The lower bound of a row; null if it is absent. */
  def lower(row: Int): ZoneValue = {
    val code = lowerCodes(row)
    if (!BoundsFlags.hasLower(flags(row))) null
    else if (Dictionary.isExact(code)) boundary(code)
    else if (packedExact != null) LongValue(packedExact.lower(row, code))
    else frames.lower(row)
  }

  /** The upper bound of a row; null if it is absent. */
  def upper(row: Int): ZoneValue = {
    val code = upperCodes(row)
    if (!BoundsFlags.hasUpper(flags(row))) null
    else if (Dictionary.isExact(code)) boundary(code)
    else if (packedExact != null) LongValue(packedExact.upper(row, packedExact.lower(row, lowerCodes(row)), code))
    else frames.upper(row)
  }

  def tight(row: Int): Boolean = BoundsFlags.isTight(flags(row))
  def nulls(row: Int): Presence = BoundsFlags.nulls(flags(row))
  def nans(row: Int): Presence = BoundsFlags.nans(flags(row))

  def bounds(row: Int): ColumnBounds = ColumnBounds(lower(row), upper(row), tight(row), nulls(row), nans(row))

  /** Whether the lower and upper bound of a row may be equal, judged by codes alone: equal bounds have equal codes. */
  def mayMeet(row: Int): Boolean = lowerCodes(row) == upperCodes(row)

  /**
   * A number shared by all rows whose lower and upper bound equal the same boundary; -1 if codes do not prove that the
   * bounds of the row are equal.
   */
  def meetingCode(row: Int): Int = {
    val code = lowerCodes(row)
    if (code == upperCodes(row) && Dictionary.isExact(code)) code else -1
  }

  /** Whether some file is known to hold only one value or only nulls; computed once, in O(rows). */
  lazy val hasSingles: Boolean = (0 until rows).exists { row =>
    val f = flags(row)
    BoundsFlags.nulls(f) == Presence.All || (BoundsFlags.isTight(f) && meetingCode(row) >= 0)
  }

  /** Whether some file has a bound or a count of nulls; computed once, in O(rows). */
  lazy val knowsAny: Boolean = (0 until rows).exists { row =>
    nulls(row) != Presence.Unknown || lower(row) != null || upper(row) != null
  }

  /**
   * Whether some file may have a bound with a property. Without reading exact bounds the answer is true unless codes
   * alone determine the bounds.
   */
  def mayHaveBound(property: ZoneValue => Boolean): Boolean =
    !exactCodes || (0 until dictionary.size).exists(ordinal => property(dictionary.value(ordinal)))

  /** Valid bounds that cover all rows of a block. */
  private[core] def blockBounds(block: Int): ColumnBounds = {
    val f = blocks.flags(block).toInt
    ColumnBounds(
      if (BoundsFlags.hasLower(f)) boundaryBelow(blocks.lower(block)) else null,
      if (BoundsFlags.hasUpper(f)) boundaryAbove(blocks.upper(block)) else null,
      tight = false,
      BoundsFlags.nulls(f),
      BoundsFlags.nans(f)
    )
  }

  /** The greatest boundary that is at most every value of the code; null for a code below the first boundary. */
  private def boundaryBelow(code: Int): ZoneValue =
    if (Dictionary.isExact(code)) boundary(code)
    else if (code == 0) null
    else boundary(code - 1)

  /** The least boundary that is at least every value of the code; null for a code above the last boundary. */
  private def boundaryAbove(code: Int): ZoneValue =
    if (Dictionary.isExact(code)) boundary(code)
    else if (Dictionary.ordinal(code) >= dictionary.size) null
    else boundary(code + 1)

  private[core] def flags(row: Int): Int = if (flagBytes == null) shape.flags.get else flagBytes.get(row).toInt

  /** The flags of every row if all rows have the same flags; else None. */
  private[core] def constantFlags: Option[Int] = shape.flags

  private[core] def copyFlags(row: Int, count: Int, target: Array[Byte]): Unit =
    if (flagBytes == null) java.util.Arrays.fill(target, 0, count, shape.flags.get.toByte)
    else flagBytes.get(row, target, 0, count): Unit

  /**
   * The bound of a code of the root zone; null for the code of an absent bound. The code of a present bound is always
   * exact, because the least and the greatest bound are boundaries.
   */
  private def rootBound(code: Int): ZoneValue =
    if (code != Dictionary.NoUpper && Dictionary.isExact(code)) boundary(code) else null

  private def boundary(code: Int): ZoneValue = dictionary.value(Dictionary.ordinal(code))

  private def loadCodes(): (CodeArray, CodeArray) =
    if (container.has(SectionKey(SectionKind.PackedColumnCodes, fieldId))) loadPacked() else loadPlain()

  private def loadPacked(): (CodeArray, CodeArray) = {
    val codes = container.section(SectionKey(SectionKind.PackedColumnCodes, fieldId))
    var used = 0
    def side(constant: Option[Int], lower: CodeArray): CodeArray =
      constant.map(new CodeArray.Constant(_)).getOrElse {
        val packed = new PackedCodes(codes.slice(used, codes.limit() - used).order(codes.order()), rows, lower)
        used += packed.length
        packed
      }
    val lower = side(shape.lower, null)
    val upper = side(shape.upper, lower)
    if (used != codes.limit()) Input.damaged(s"packed codes of ${codes.limit()} bytes, not $used")
    (lower, upper)
  }

  private def loadPlain(): (CodeArray, CodeArray) = {
    val sideBytes = rows * detail.codeBytes
    val upperOffset =
      if (shape.lower.isDefined) 0
      else (sideBytes + Container.Alignment - 1) / Container.Alignment * Container.Alignment
    val total = if (shape.upper.isDefined) sideBytes else upperOffset + sideBytes
    if (shape.lower.isDefined && shape.upper.isDefined)
      (new CodeArray.Constant(shape.lower.get), new CodeArray.Constant(shape.upper.get))
    else {
      val codes = sized(SectionKey(SectionKind.ColumnCodes, fieldId), total)
      def side(constant: Option[Int], offset: Int): CodeArray = {
        def bytes = codes.slice(offset, sideBytes).order(codes.order())
        constant match {
          case Some(code)                    => new CodeArray.Constant(code)
          case None if detail.codeBytes == 1 => new CodeArray.Bytes(bytes)
          case None                          => new CodeArray.Chars(bytes)
        }
      }
      (side(shape.lower, 0), side(shape.upper, upperOffset))
    }
  }

  private def sized(key: SectionKey, bytes: Int) = {
    val section = container.section(key)
    if (section.remaining != bytes) Input.damaged(s"section '$key' of ${section.remaining} bytes, not $bytes")
    section
  }
}

/** The head of a column: everything but its codes, flags and exact bounds. Immutable. */
final private[core] class BoundsHead private (
    val columnType: ColumnType,
    val detail: ColumnDetail,
    val shape: ColumnShape,
    val dictionary: Dictionary,
    val rootZone: ZoneTable,
    val blocks: ZoneTable) {

  private def heapBytes: Long = BoundsHead.ColumnBytes + dictionary.heapBytes + rootZone.heapBytes + blocks.heapBytes
}

private[core] object BoundsHead {

  /** The heap size of a column's objects: views of its arrays, shapes and small tables. */
  private val ColumnBytes = 700L

  /** Decodes the section. Its bytes are not retained. */
  def read(container: ContainerReader, fieldId: Int, rows: Int): BoundsHead = {
    val key = SectionKey(SectionKind.ColumnHead, fieldId)
    val in = new Input(container.section(key))
    val text = in.text()
    val columnType = ColumnType.parse(text).getOrElse(Input.damaged(s"a column of type '$text'"))
    val detail = ColumnDetail.ofCode(in.byte())
    val shape = ColumnShape.read(in)
    val dictionary = Dictionary.read(in, columnType.encoding)
    val rootZone = ZoneTable.read(in, if (rows == 0) 0 else 1)
    val blocks = ZoneTable.read(in, Blocks.count(rows))
    in.end("a column head")
    val head = new BoundsHead(columnType, detail, shape, dictionary, rootZone, blocks)
    container.replaced(key, head.heapBytes)
    head
  }
}
