// SPDX-License-Identifier: Apache-2.0
package zonemap.core.segment

import scala.collection.mutable

import zonemap.core.column.Bitmap
import zonemap.core.container.{ContainerReader, ContainerWriter, SectionKey, SectionKind}
import zonemap.core.io.{HeapBytes, Input, Output}

/**
 * What the provenances of a segment's files do not say of single columns. Immutable, thread-safe.
 *
 * @param doubted by field id, the files of which the column's statistics are not proven although the file is
 * @param names by field id, a digest of the names by which readers found the column when files without field ids were
 *   checked
 */
final private[zonemap] class Evidence(val doubted: Map[Int, Bitmap], val names: Map[Int, String]) {
  private[segment] def heapBytes: Long =
    HeapBytes.hashMap(doubted.size + names.size) + doubted.valuesIterator.map(b => HeapBytes.bitmap(b.size)).sum +
      names.valuesIterator.map(HeapBytes.text).sum
}

/**
 * The evidence for the statistics of one file.
 *
 * @param doubted by field id, the columns whose statistics it does not prove
 * @param withoutNaN by field id, the columns of floats that hold no NaN
 */
final private[zonemap] case class FileEvidence(provenance: Provenance, doubted: Seq[Int], withoutNaN: Seq[Int])

/** Collects the evidence of a segment's files. Not thread-safe. */
final private[segment] class EvidenceBuilder {
  private val doubted = mutable.TreeMap.empty[Int, mutable.ArrayBuffer[Int]]
  val names = mutable.TreeMap.empty[Int, String]

  def doubt(row: Int, fieldId: Int): Unit =
    doubted.getOrElseUpdate(fieldId, mutable.ArrayBuffer.empty) += row: Unit

  def name(fieldId: Int, digest: String): Unit = names.put(fieldId, digest): Unit

  /** Writes no section if there is nothing to say; segments of earlier releases lack the section as well. */
  def write(container: ContainerWriter): Unit =
    if (doubted.nonEmpty || names.nonEmpty) {
      val out = new Output().varint(doubted.size)
      doubted.foreach { case (fieldId, rows) =>
        out.varint(fieldId).varint(rows.size)
        rows.foldLeft(0) { (before, row) =>
          out.varint(row - before)
          row
        }
      }
      out.varint(names.size)
      names.foreach { case (fieldId, digest) => out.varint(fieldId).text(digest) }
      container.packed(SectionKey(SectionKind.Evidence), out.toBytes)
    }
}

private[segment] object Evidence {
  val Nothing = new Evidence(Map.empty, Map.empty)

  def read(container: ContainerReader, rows: Int): Evidence = {
    val key = SectionKey(SectionKind.Evidence)
    if (!container.has(key)) Nothing
    else {
      val in = new Input(container.section(key))
      val doubted = List.fill(in.count(2))(in.varint() -> rowsOf(in, rows)).toMap
      val names = List.fill(in.count(2))(in.varint() -> in.text()).toMap
      in.end("the evidence")
      val found = new Evidence(doubted, names)
      container.replaced(key, found.heapBytes)
      found
    }
  }

  private def rowsOf(in: Input, rows: Int): Bitmap = {
    val found = Bitmap.empty(rows)
    (0 until in.count(1)).foldLeft(0) { (before, _) =>
      val row = before + in.varint()
      if (row < 0 || row >= rows) Input.damaged(s"evidence of row $row of $rows")
      found.set(row)
      row
    }: Unit
    found
  }
}
