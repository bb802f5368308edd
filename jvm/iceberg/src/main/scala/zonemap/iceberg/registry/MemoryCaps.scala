// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.registry

import java.util.concurrent.TimeUnit

import org.slf4j.LoggerFactory

import zonemap.core.io.RecentlySeen
import zonemap.iceberg.settings.{ColdSettings, PlannerSettings}

/**
 * The caps of a process, for all tables and all sessions together.
 *
 * @param hotMaxBytes the greatest size of the index in memory and in spilled files
 * @param hotWindowMillis the memory of segments with commits younger than this is released last
 * @param cold the caps of fetched ranges, and the local folder for them
 */
private[zonemap] final case class MemoryCaps(hotMaxBytes: Long, hotWindowMillis: Long, cold: ColdSettings) {

  /** The values by the names of their confs. */
  def named: Seq[(String, String)] = Seq(
    "hot.maxBytes" -> hotMaxBytes.toString,
    "hot.window" -> s"${TimeUnit.MILLISECONDS.toSeconds(hotWindowMillis)}s",
    "cold.cacheMaxBytes" -> cold.memoryMaxBytes.toString,
    "cold.cacheDir" -> cold.dir.getOrElse(""),
    "cold.cacheDiskMaxBytes" -> cold.diskMaxBytes.toString
  )
}

private[zonemap] object MemoryCaps {
  def of(settings: PlannerSettings): MemoryCaps =
    MemoryCaps(settings.hotMaxBytes, settings.maintenance.hotWindowMillis, settings.cold)
}

/** A session of a process, as the caps see it. Two objects for one session are equal. */
private[zonemap] trait CapsSession {

  /** Whether the session can no longer run a query, so that another session may set the caps. */
  def isOver: Boolean
}

private[zonemap] object CapsSession {

  /** Represents callers without a session: the last of these callers sets the caps, until a session sets them. */
  case object Nobody extends CapsSession {
    override def isOver: Boolean = true
  }
}

/**
 * Holds the caps of a process. The session that plans first sets them and may change them. Other sessions that request
 * other caps use the caps in effect, and the log names the difference, once for each set of values. Thread-safe.
 *
 * @param apply puts changed caps into effect
 */
private[registry] final class CapsOwner(apply: MemoryCaps => Unit) {
  import CapsOwner._

  private var owner = Option.empty[CapsSession]
  private val logged = new RecentlySeen[MemoryCaps](MaxLogged)
  @volatile private var current = MemoryCaps.of(PlannerSettings())

  def caps: MemoryCaps = current

  def use(requested: MemoryCaps, session: CapsSession): Unit =
    if (!isSetBy(session)) warn(requested)
    else if (requested != current) synchronized {
      // caps hold only once they are in effect: values that fail are tried again, and fail, with each plan
      apply(requested)
      current = requested
    }

  private def isSetBy(session: CapsSession): Boolean = synchronized {
    if (owner.forall(_.isOver)) owner = Some(session)
    owner.contains(session)
  }

  private def warn(requested: MemoryCaps): Unit = {
    val holding = current
    val different = requested.named.zip(holding.named).collect {
      case ((name, wanted), (_, held)) if wanted != held =>
        s"spark.sql.zonemap.$name='$wanted', in use is '$held'"
    }
    if (different.nonEmpty && logged.add(requested))
      log.warn(
        s"Zonemap: Cannot use ${different.mkString("; ")}: all sessions of this process share these caps, and the session " +
          "that planned first has set them. Change them in that session, or set them before the first query, for instance in " +
          "spark-defaults.conf.")
  }
}

private object CapsOwner {
  private val log = LoggerFactory.getLogger("zonemap.index")
  private val MaxLogged = 64
}
