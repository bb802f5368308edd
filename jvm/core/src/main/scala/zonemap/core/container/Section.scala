// SPDX-License-Identifier: Apache-2.0
package zonemap.core.container

/** The kind of data that a section of a container holds. The codes are part of the stored format. */
sealed abstract private[core] class SectionKind(val code: Int, val name: String) {
  override def toString: String = name
}

private[core] object SectionKind {
  case object Meta extends SectionKind(1, "meta")
  case object Manifests extends SectionKind(2, "manifests")
  case object Partitions extends SectionKind(3, "partitions")
  case object Fixed extends SectionKind(4, "fixed")
  case object PathIndex extends SectionKind(5, "path index")
  case object PathData extends SectionKind(6, "path data")
  case object ColumnHead extends SectionKind(7, "column head")
  case object ColumnCodes extends SectionKind(8, "column codes")
  case object ColumnFlags extends SectionKind(9, "column flags")
  case object ExactIndex extends SectionKind(10, "exact index")
  case object ExactData extends SectionKind(11, "exact data")
  case object PackedColumnCodes extends SectionKind(12, "packed column codes")
  case object PackedExactBounds extends SectionKind(13, "packed exact bounds")
  case object Provenances extends SectionKind(14, "provenances")
  case object Evidence extends SectionKind(15, "evidence")
  case object DeleteFiles extends SectionKind(20, "delete files")

  /**
   * Sections of these kinds have one checksum per block, stored in their index section, instead of one for the whole
   * section.
   */
  val checkedByBlock: Set[SectionKind] = Set(PathData, ExactData)

  private val byCode: Map[Int, SectionKind] =
    Seq(
      Meta,
      Manifests,
      Partitions,
      Fixed,
      PathIndex,
      PathData,
      ColumnHead,
      ColumnCodes,
      ColumnFlags,
      ExactIndex,
      ExactData,
      PackedColumnCodes,
      PackedExactBounds,
      Provenances,
      Evidence,
      DeleteFiles
    ).map(k => k.code -> k).toMap

  def ofCode(code: Int): Option[SectionKind] = byCode.get(code)
}

/**
 * The key of a section: its kind, and the field id (sections of columns) or slot (fixed arrays) it belongs to, else 0.
 */
final private[core] case class SectionKey(kind: SectionKind, id: Int = 0) {
  override def toString: String = if (id == 0) kind.name else s"${kind.name} $id"
}

/** A row of the section table. A `compressed` section is one zstd frame of `rawLength` bytes. */
final private[container] case class SectionEntry(
    key: SectionKey,
    compressed: Boolean,
    offset: Long,
    length: Int,
    rawLength: Int,
    crc32c: Int)

private[core] object Container {
  val Magic: Array[Byte] = "ZMSEGMNT".getBytes("US-ASCII")
  val FormatVersion = 1
  val Alignment = 64
  val HeaderBytes = 64
  val TailBytes = 16
  val EntryBytes = 36

  /** The number of items that any list may have, however few bytes it is stored in: equal items compress well. */
  private val FreeItems = 8192L

  /**
   * The largest number of items of a list that is stored in `storedBytes` bytes. A list that declares more is not
   * decoded.
   */
  def mostItems(storedBytes: Int): Int = Math.min(Int.MaxValue.toLong, FreeItems + 2L * storedBytes).toInt

  val KindData = 1
  val KindDeletes = 2
}
