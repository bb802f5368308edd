package zonemap.spark.conf

import org.apache.commons.text.similarity.LevenshteinDistance
import org.apache.spark.sql.internal.SQLConf
import org.slf4j.LoggerFactory

import zonemap.core.io.Recent

/**
 * Warns of confs of a session that begin like those of zonemap and are none, such as one with a typing error. Each is
 * logged once, with the known conf that differs in the fewest characters. Thread-safe.
 */
private[spark] final class UnknownConfs {
  import UnknownConfs._

  private val warned = new Recent[String](MostKeys)

  def check(conf: SQLConf): Unit = unknown(conf).filter(warned.add).foreach(key => log.warn(message(key)))
}

private[spark] object UnknownConfs {
  private val log = LoggerFactory.getLogger("zonemap")
  private val MostKeys = 256
  private lazy val known: Set[String] = ZoneMapConf.all.map(_.key).toSet

  private[conf] def unknown(conf: SQLConf): Seq[String] =
    conf.getAllConfs.keysIterator.filter(key => key.startsWith(ZoneMapConf.Prefix) && !known(key)).toSeq.sorted

  private[conf] def message(key: String): String = {
    val nearest = known.toSeq.sorted.minBy(LevenshteinDistance.getDefaultInstance.apply(key, _).intValue)
    s"Zonemap: Cannot use the conf '$key': there is no conf of this name. Set '$nearest' if you mean this one."
  }
}
