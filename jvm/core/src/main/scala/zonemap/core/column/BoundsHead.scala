// SPDX-License-Identifier: Apache-2.0
package zonemap.core.column

import zonemap.core.container.{ContainerReader, SectionKey, SectionKind}
import zonemap.core.io.Input
import zonemap.core.value.ColumnType

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
