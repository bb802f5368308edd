// SPDX-License-Identifier: Apache-2.0
package zonemap.core.segment

import java.io.ByteArrayOutputStream
import zonemap.core.container.{ContainerReader, ContainerWriter, SectionKey, SectionKind}
import zonemap.core.io.Input

/** Collects the provenance of each file of a segment. Not thread-safe. */
final private[segment] class ProvenancesBuilder {
  private val codes = new ByteArrayOutputStream

  def add(provenance: Provenance): Unit = codes.write(provenance.code.toInt)

  /**
   * Writes one byte if all files have the same provenance. Writes no section if no provenance is known; segments of
   * earlier releases lack the section as well.
   */
  def write(container: ContainerWriter): Unit = {
    val all = codes.toByteArray
    val isConstant = all.forall(_ == all.head)
    if (all.exists(_ != Provenance.Unknown.code))
      container.packed(SectionKey(SectionKind.Provenances), if (isConstant) all.take(1) else all)
  }
}

/** The provenance of each file of a segment. Immutable, thread-safe; O(1) per file. */
final private[core] class Provenances private (codes: Array[Byte]) {

  /** The provenance of all files, if it is the same; else None. */
  val common: Option[Provenance] = Option.when(codes.length == 1)(Provenance.ofCode(codes(0)))

  def apply(row: Int): Provenance = common.getOrElse(Provenance.ofCode(codes(row)))
}

private[core] object Provenances {
  private val NoneKnown = new Provenances(Array(Provenance.Unknown.code))

  def read(container: ContainerReader, rows: Int): Provenances = {
    val key = SectionKey(SectionKind.Provenances)
    if (!container.has(key)) NoneKnown
    else {
      val section = container.section(key)
      if (section.remaining != 1 && section.remaining != rows)
        Input.damaged(s"${section.remaining} provenances of $rows files")
      val codes = new Array[Byte](section.remaining)
      section.get(codes)
      codes.foreach(Provenance.ofCode)
      new Provenances(codes)
    }
  }
}
