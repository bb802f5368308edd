package zonemap.core.segment

/**
 * The columns that a table's index is to hold bounds of.
 *
 * @param fieldIds `None` for all there are, those that come with a schema change included
 */
final private[zonemap] case class ColumnChoice(fieldIds: Option[Set[Int]]) {
  def holds(fieldId: Int): Boolean = fieldIds.forall(_.contains(fieldId))
}

private[zonemap] object ColumnChoice {
  val All: ColumnChoice = ColumnChoice(None)

  def only(fieldIds: Iterable[Int]): ColumnChoice = ColumnChoice(Some(fieldIds.toSet))
}
