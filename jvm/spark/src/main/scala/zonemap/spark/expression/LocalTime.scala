// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import java.time.{Instant, LocalDate, ZoneId}
import java.time.zone.ZoneRules
import java.util.TimeZone
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

/**
 * Computes how far functions of local time may deviate from the order of instants.
 *
 * Local time is instant plus offset. Two instants further apart than the spread of all offsets of the zone have the
 * same order in local time; two nearer instants can have another order only if the offset changes between them. See
 * SOUNDNESS, S51.
 */
private[expression] final class LocalTime private (rules: ZoneRules, slackSeconds: Long) {
  import LocalTime._

  /**
   * Returns by how many seconds a boundary near the second `at` since the epoch (local or not) must be moved outward.
   */
  def slackAt(at: Long): Long =
    if (slackSeconds == 0 || !changes(at - slackSeconds - MaxOffset, at + slackSeconds + MaxOffset)) 0 else slackSeconds

  private def changes(from: Long, to: Long): Boolean = {
    val next = rules.nextTransition(instant(from))
    next != null && next.toEpochSecond <= to
  }

  private def instant(second: Long): Instant =
    Instant.ofEpochSecond(Math.max(Instant.MIN.getEpochSecond, Math.min(Instant.MAX.getEpochSecond, second)))
}

private[expression] object LocalTime {

  /** The largest offset of any zone, in seconds. */
  private val MaxOffset = 18L * 3600

  /** The greatest deviation, in seconds and on both sides, that truncation to an hour can add. */
  private val Hours = 2L * 3600

  /** A year in which the zone's recurring rules, if it has any, apply. */
  private val LastRuleYear = 2100

  def of(zone: ZoneId): LocalTime = {
    val rules = zone.getRules
    val transitions =
      rules.getTransitions.asScala ++ rules.getTransitionRules.asScala.map(_.createTransition(LastRuleYear))
    val offsets = transitions.flatMap(t => Seq(t.getOffsetBefore, t.getOffsetAfter)).map(_.getTotalSeconds.toLong)
    val spread = if (offsets.isEmpty) 0L else offsets.max - offsets.min
    new LocalTime(rules, if (spread == 0) 0 else 2 * spread + Hours)
  }

  private def second(year: Int): Long = LocalDate.of(year, 1, 1).toEpochDay * 86400
  private val LegacyFrom = second(1901)
  private val LegacyUntil = second(2500)
  private val Month = 30L * 86400

  /** The zones of the JDK's database that were asked for, some hundreds at most; fixed offsets are computed anew. */
  private val formatted = new ConcurrentHashMap[ZoneId, java.lang.Boolean]

  /**
   * True if legacy formatters, which use [[TimeZone]], have the same offsets in this zone from 1901 on. Recurring rules
   * repeat after 400 years. Takes milliseconds for the first use of a zone.
   */
  def isOfLegacyFormats(zone: ZoneId): Boolean = {
    val rules = zone.getRules
    if (rules.isFixedOffset) isAlike(rules, TimeZone.getTimeZone(zone), LegacyFrom)
    else formatted.computeIfAbsent(zone, _ => isOfLegacyFormats(rules, TimeZone.getTimeZone(zone)))
  }

  private def isOfLegacyFormats(rules: ZoneRules, legacy: TimeZone): Boolean = {
    val changes = Iterator
      .iterate(rules.nextTransition(Instant.ofEpochSecond(LegacyFrom)))(t => rules.nextTransition(t.getInstant))
      .takeWhile(t => t != null && t.toEpochSecond < LegacyUntil)
      .flatMap(t => Iterator(t.toEpochSecond - 1, t.toEpochSecond))
    (changes ++ Iterator.iterate(LegacyFrom)(_ + Month).takeWhile(_ < LegacyUntil)).forall(isAlike(rules, legacy, _))
  }

  private def isAlike(rules: ZoneRules, legacy: TimeZone, second: Long): Boolean =
    legacy.getOffset(second * 1000) == rules.getOffset(Instant.ofEpochSecond(second)).getTotalSeconds * 1000
}
