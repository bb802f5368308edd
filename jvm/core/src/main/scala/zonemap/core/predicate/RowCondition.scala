// SPDX-License-Identifier: Apache-2.0
package zonemap.core.predicate

import java.util.concurrent.ConcurrentHashMap

import zonemap.core.value.ZoneValue

/**
 * An opaque deterministic condition on the values of a row. Its results are cached, so that the cost depends on the
 * number of distinct values and not on the number of files. Thread-safe.
 *
 * @param digest two conditions have the same digest only if they are TRUE for the same values
 * @param text the condition as one readable line
 */
abstract private[zonemap] class RowCondition(val digest: String, val text: String) {
  private val known = new ConcurrentHashMap[Seq[ZoneValue], java.lang.Boolean]

  /** True if the condition may be TRUE for these values, null for NULL. Returns true on failures and never throws. */
  protected def evaluate(values: Seq[ZoneValue]): Boolean

  /** Like [[evaluate]]: one thread at a time calls [[evaluate]], once for each of the first distinct values. */
  final def mayHold(values: Seq[ZoneValue]): Boolean = {
    val before = known.get(values)
    if (before != null) before
    else
      synchronized {
        known.size >= RowCondition.MaxKnown || known.computeIfAbsent(values, v => evaluate(v))
      }
  }

  /** Whether the condition was not evaluated for some files, because evaluations had taken all the work of a plan. */
  def isSpent: Boolean = false

  /** Whether [[mayHoldWithin]] may return false for columns that hold more than one value. */
  def isBounded: Boolean = false

  /** True if the condition may be TRUE for a row with values in these spans. True on failures; never throws. */
  protected def evaluateWithin(spans: Seq[ColumnSpan]): Boolean = true

  /** Like [[evaluateWithin]]: one thread at a time calls [[evaluateWithin]]. */
  final def mayHoldWithin(spans: Seq[ColumnSpan]): Boolean = synchronized(evaluateWithin(spans))

  final override def equals(other: Any): Boolean = other match {
    case that: RowCondition => digest == that.digest
    case _                  => false
  }

  final override def hashCode: Int = digest.hashCode
  final override def toString: String = text
}

private[zonemap] object RowCondition {

  /** Limit of distinct values that are evaluated: the condition may be TRUE for all further values. */
  val MaxKnown = 4096
}
