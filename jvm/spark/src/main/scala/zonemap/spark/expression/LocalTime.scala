package zonemap.spark.expression

import java.time.{Instant, ZoneId}
import java.time.zone.ZoneRules

import scala.jdk.CollectionConverters._

/**
 * How far a function of local time may be from keeping the order of instants.
 *
 * Local time is instant plus offset, so two instants further apart than the spread of all offsets of the zone are in
 * order locally too; a nearer pair may be swapped only where an offset changes between them. See SOUNDNESS, S41.
 */
private[expression] final class LocalTime private (rules: ZoneRules, slackSeconds: Long) {
  import LocalTime._

  /**
   * By how many seconds a boundary found near the second `at` since the epoch (local or not) has to be moved outward.
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

  /** The greatest offset of any zone, in seconds. */
  private val MaxOffset = 18L * 3600

  /** What truncation to an hour may add on both sides. */
  private val Hours = 2L * 3600

  /** Any year in which the zone's standing rules, if it has some, apply. */
  private val LastRuleYear = 2100

  def of(zone: ZoneId): LocalTime = {
    val rules = zone.getRules
    val transitions =
      rules.getTransitions.asScala ++ rules.getTransitionRules.asScala.map(_.createTransition(LastRuleYear))
    val offsets = transitions.flatMap(t => Seq(t.getOffsetBefore, t.getOffsetAfter)).map(_.getTotalSeconds.toLong)
    val spread = if (offsets.isEmpty) 0L else offsets.max - offsets.min
    new LocalTime(rules, if (spread == 0) 0 else 2 * spread + Hours)
  }
}
