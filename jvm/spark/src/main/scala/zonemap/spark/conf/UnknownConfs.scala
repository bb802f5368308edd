// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.conf

import java.util.Locale

import org.apache.commons.text.similarity.LevenshteinDistance
import org.apache.spark.sql.internal.SQLConf
import org.slf4j.LoggerFactory

import zonemap.core.io.RecentlySeen

/**
 * Warns of confs of a session that begin like those of zonemap and are none, such as one with a typing error. Each is
 * logged once, with the known conf whose beginning of as many parts differs in the fewest characters, apart from case
 * and hyphens. Thread-safe.
 */
private[zonemap] final class UnknownConfs(confs: Seq[ConfEntry[_]]) {
  import UnknownConfs._

  private val known = confs.map(_.key).sorted
  private val warned = new RecentlySeen[String](MostKeys)

  def check(conf: SQLConf): Unit = unknown(conf).filter(warned.add).foreach(key => log.warn(message(key)))

  private[conf] def unknown(conf: SQLConf): Seq[String] =
    conf.getAllConfs.keysIterator.filter(key => key.startsWith(ZoneMapConf.Prefix) && !known.contains(key)).toSeq.sorted

  private[conf] def message(key: String): String = {
    val parts = key.split('.').length
    val nearest = known.minBy { conf =>
      val beginning = conf.split('.').take(parts).mkString(".")
      (LevenshteinDistance.getDefaultInstance.apply(plain(key), plain(beginning)).intValue, conf.length)
    }
    s"Zonemap: Cannot use the conf '$key': there is no conf of this name. Set '$nearest' if you mean this one."
  }
}

private[zonemap] object UnknownConfs {
  private val log = LoggerFactory.getLogger("zonemap")
  private val MostKeys = 256

  private def plain(key: String): String = key.replace("-", "").toLowerCase(Locale.ROOT)
}
