// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.conf

import org.apache.commons.text.similarity.LevenshteinDistance
import org.apache.spark.sql.internal.SQLConf
import org.slf4j.LoggerFactory

import zonemap.core.io.Recent

/**
 * Warns of confs of a session that begin like those of zonemap and are none, such as one with a typing error. Each is
 * logged once, with the known conf that differs in the fewest characters. Thread-safe.
 */
private[zonemap] final class UnknownConfs(confs: Seq[ConfEntry[_]]) {
  import UnknownConfs._

  private val known = confs.map(_.key).sorted
  private val warned = new Recent[String](MostKeys)

  def check(conf: SQLConf): Unit = unknown(conf).filter(warned.add).foreach(key => log.warn(message(key)))

  private[conf] def unknown(conf: SQLConf): Seq[String] =
    conf.getAllConfs.keysIterator.filter(key => key.startsWith(ZoneMapConf.Prefix) && !known.contains(key)).toSeq.sorted

  private[conf] def message(key: String): String = {
    val nearest = known.minBy(LevenshteinDistance.getDefaultInstance.apply(key, _).intValue)
    s"Zonemap: Cannot use the conf '$key': there is no conf of this name. Set '$nearest' if you mean this one."
  }
}

private[zonemap] object UnknownConfs {
  private val log = LoggerFactory.getLogger("zonemap")
  private val MostKeys = 256
}
