// SPDX-License-Identifier: Apache-2.0
package zonemap.core.column

/**
 * The columns for which a table's index is configured to hold bounds.
 *
 * @param fieldIds `None` for all columns, including columns that later schema changes add
 */
final private[zonemap] case class ColumnChoice(fieldIds: Option[Set[Int]]) {
  def holds(fieldId: Int): Boolean = fieldIds.forall(_.contains(fieldId))
}

private[zonemap] object ColumnChoice {
  val All: ColumnChoice = ColumnChoice(None)

  def only(fieldIds: Iterable[Int]): ColumnChoice = ColumnChoice(Some(fieldIds.toSet))
}
