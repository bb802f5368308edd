// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.convert

import org.apache.iceberg.Schema
import org.apache.iceberg.types.TypeUtil

/** The places of fields in a schema. */
private[zonemap] final class FieldPaths(schema: Schema) {
  private val parents = TypeUtil.indexParents(schema.asStruct())

  /** The ids of the fields in which a field lies, the outermost first, and its own id. */
  def of(fieldId: Int): Seq[Int] =
    Iterator
      .iterate(Option(Integer.valueOf(fieldId)))(_.flatMap(id => Option(parents.get(id))))
      .takeWhile(_.isDefined)
      .flatten
      .map(_.intValue)
      .toSeq
      .reverse
}
