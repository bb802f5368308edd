package zonemap.core.predicate

import java.util.concurrent.ConcurrentHashMap

import zonemap.core.value.ZoneValue

/**
 * A deterministic condition on the values of a row, of whose inside nothing is known. What it says of values is kept, so
 * that the cost goes with distinct values and not with files. Thread-safe.
 *
 * @param digest two conditions share it only if they are TRUE for the same values
 * @param text one readable line
 */
abstract private[zonemap] class RowCondition(val digest: String, val text: String) {
  private val known = new ConcurrentHashMap[Seq[ZoneValue], java.lang.Boolean]

  /** Whether the condition may be TRUE for these values, null for NULL. In doubt it may, and never throws. */
  protected def evaluate(values: Seq[ZoneValue]): Boolean

  /** As [[evaluate]], which is asked by one thread at a time and once for each of the first values that come along. */
  final def mayHold(values: Seq[ZoneValue]): Boolean = {
    val before = known.get(values)
    if (before != null) before
    else
      synchronized {
        known.size >= RowCondition.MaxKnown || known.computeIfAbsent(values, v => evaluate(v))
      }
  }

  final override def equals(other: Any): Boolean = other match {
    case that: RowCondition => digest == that.digest
    case _                  => false
  }

  final override def hashCode: Int = digest.hashCode
  final override def toString: String = text
}

private[zonemap] object RowCondition {

  /** More distinct values than these are not looked at: the condition may be TRUE for them. */
  val MaxKnown = 4096
}
