// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.conf

import java.util.Locale

import org.apache.commons.text.similarity.LevenshteinDistance
import org.apache.spark.sql.internal.SQLConf
import org.slf4j.LoggerFactory

import zonemap.core.io.RecentlySeen

/**
 * Warns of confs of a session and of read options that begin like those of zonemap and are none, such as one with a typing
 * error. Each is logged once, with the known conf whose beginning of as many parts differs in the fewest characters, apart
 * from case and hyphens. Thread-safe.
 */
private[zonemap] final class UnknownConfs(confs: Seq[ConfEntry[_]]) {
  import UnknownConfs._

  private val known = confs.map(_.key).sorted
  private val options = confs.map(_.option.toLowerCase(Locale.ROOT)).toSet
  private val warned = new RecentlySeen[String](MostKeys)

  def check(conf: SQLConf): Unit = unknown(conf).filter(warned.add).foreach(key => log.warn(message(key)))

  /** @param names the read options of a table, without those that zonemap sets itself */
  def check(names: Iterable[String]): Unit =
    names.filter(name => isOurs(name) && !options(name.toLowerCase(Locale.ROOT))).filter(warned.add).foreach { name =>
      log.warn(s"Zonemap: Cannot use the read option '$name': there is none of this name. Use " +
        s"'${nearest(SqlPrefix + name).stripPrefix(SqlPrefix)}' if you mean this one.")
    }

  private def isOurs(option: String): Boolean =
    (SqlPrefix + option.toLowerCase(Locale.ROOT)).startsWith(ZoneMapConf.Prefix)

  private[conf] def unknown(conf: SQLConf): Seq[String] =
    conf.getAllConfs.keysIterator.filter(key => key.startsWith(ZoneMapConf.Prefix) && !known.contains(key)).toSeq.sorted

  private[conf] def message(key: String): String =
    s"Zonemap: Cannot use the conf '$key': there is no conf of this name. Set '${nearest(key)}' if you mean this one."

  private def nearest(key: String): String = {
    val parts = key.split('.').length
    known.minBy { conf =>
      val beginning = conf.split('.').take(parts).mkString(".")
      (LevenshteinDistance.getDefaultInstance.apply(plain(key), plain(beginning)).intValue, conf.length)
    }
  }
}

private[zonemap] object UnknownConfs {
  private val log = LoggerFactory.getLogger("zonemap")
  private val MostKeys = 256
  private val SqlPrefix = "spark.sql."

  private def plain(key: String): String = key.replace("-", "").toLowerCase(Locale.ROOT)
}
