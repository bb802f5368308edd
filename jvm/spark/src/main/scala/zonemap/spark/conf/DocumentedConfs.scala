// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.conf

import scala.util.control.NonFatal

import org.apache.spark.sql.internal.SQLConf
import org.slf4j.LoggerFactory

import zonemap.spark.Build

/** Registers the confs with Spark, so that `SET -v` lists each one with its default and its documentation. */
private[zonemap] object DocumentedConfs {
  private val log = LoggerFactory.getLogger("zonemap")

  /**
   * Registers each conf that Spark does not know. Spark stores any text as the value: only [[ZoneMapConf]] checks it,
   * so that a malformed value never fails a session.
   */
  def register(confs: Seq[ConfEntry[_]]): Unit =
    try SQLConf.synchronized(unknown(confs).foreach(add(_)))
    catch {
      case e @ (NonFatal(_) | _: LinkageError) => log.warn(s"Cannot list the confs of zonemap in SET -v: $e")
    }

  /** The confs that Spark does not know. */
  private[zonemap] def unknown(confs: Seq[ConfEntry[_]]): Seq[ConfEntry[_]] = {
    val conf = new SQLConf
    confs.filterNot(entry => conf.isModifiable(entry.key))
  }

  private def add(entry: ConfEntry[_]): Unit =
    SQLConf
      .buildConf(entry.key)
      .doc(s"${entry.doc} Allowed: ${entry.allowed}.")
      .version(s"zonemap ${Build.version}")
      .stringConf
      .createWithDefault(entry.default): Unit
}
