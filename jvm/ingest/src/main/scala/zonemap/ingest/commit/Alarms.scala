// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.commit

import scala.collection.mutable

import org.slf4j.LoggerFactory

import zonemap.ingest.record.ShortText

/** Logs problems of one table, each when it begins and then once in [[Alarms.EveryMillis]]. Not thread-safe. */
private[ingest] final class Alarms(table: String, settings: IngestSettings) {
  import Alarms._

  private val logged = mutable.HashMap.empty[String, Long]

  def failed(error: Throwable): Unit =
    warn("failed", System.currentTimeMillis(), s"Cannot commit to '$table': $error. The next pass tries again.")

  def closeFailed(error: Throwable): Unit =
    warn("close", System.currentTimeMillis(), s"Cannot close the queue of '$table': $error. The committer goes on.")

  /** Logs a sentence about the table itself. */
  def warnOf(sentence: String): Unit = warn("table", System.currentTimeMillis(), sentence)

  /** @param oldestMillis when the oldest record in the queue was appended */
  def check(results: Seq[PassResult], oldestMillis: Option[Long], nowMillis: Long): Unit = {
    logged.remove("failed")
    results.foreach { result =>
      result.outcome match {
        case PassOutcome.Stopped(code, message) => warn(s"stopped-$code", nowMillis, message)
        case PassOutcome.Unresolved(why) => warn("unresolved", nowMillis, s"A commit to '$table' is unresolved: $why")
        case _                           => ()
      }
      result.refused.headOption.foreach { refused =>
        warn(
          s"refused-${refused.code}",
          nowMillis,
          s"'$table': ${result.refused.size} records are refused, among them ${refused.seq} of lane '${refused.lane}': " +
            s"${refused.message}. See ingest_status."
        )
      }
      result.held.filter(_.isAlarm(nowMillis, settings)).foreach { held =>
        warn(s"held-${held.lane}", nowMillis, s"'$table': ${held.text}.")
      }
      undeleted(result).foreach(text => warn("undeleted", nowMillis, s"'$table': $text."))
    }
    oldestMillis
      .map(nowMillis - _)
      .filter(_ > settings.oldestAlarmMillis)
      .foreach(age =>
        warn(
          "oldest",
          nowMillis,
          s"'$table': the oldest pending record is ${age / 3600000} hours old. See ingest_status."))
  }

  private def warn(key: String, nowMillis: Long, message: String): Unit =
    if (logged.get(key).forall(Elapsed.isAtLeast(EveryMillis, _, nowMillis))) {
      logged.put(key, nowMillis)
      log.warn(message)
    }
}

private[ingest] object Alarms {
  private val log = LoggerFactory.getLogger("zonemap.ingest")
  private val EveryMillis = 10 * 60 * 1000L

  /** Sentences without their end on the lanes that wait for a person, and on records that cannot be deleted. */
  def waiting(result: PassResult, settings: IngestSettings, nowMillis: Long): Seq[String] =
    (result.held.filter(_.isAlarm(nowMillis, settings)).map(_.text) ++ undeleted(result)).map(ShortText.of)

  private def undeleted(result: PassResult): Option[String] = result.undeleted.headOption.map { stuck =>
    s"${result.undeleted.size} records are committed or refused and stay in the queue, among them ${stuck.name.seq} of " +
      s"lane '${stuck.name.lane}': ${ShortText.of(stuck.why)}. Grant the committer access; it tries again, and commits " +
      "none of them twice"
  }
}
