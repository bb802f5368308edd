// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.shadow

import zonemap.spark.conf.ZoneMapConf
import zonemap.spark.metrics.QueryRuns
import zonemap.spark.scan.SparkMinor.ClassicSession

/**
 * Opens sessions in which checks run queries. Each has the confs and rules of the user's session as they are when this
 * object is created; it has no listeners and samples no queries.
 */
private[shadow] final class CheckSessions(user: ClassicSession) {
  private val confs = user.sessionState.conf.getAllConfs

  /** @param settings confs that differ from those of the user's session */
  def open(settings: (String, String)*): ClassicSession = {
    val session = user.newSession()
    val conf = session.sessionState.conf
    confs.foreach { case (key, value) => conf.setConfString(key, value) }
    conf.setConfString(ZoneMapConf.ShadowSample.key, "0")
    conf.setConfString(QueryRuns.CheckMark, "true")
    settings.foreach { case (key, value) => conf.setConfString(key, value) }
    session.listenerManager.clear()
    session.experimental.extraOptimizations = user.experimental.extraOptimizations
    session.experimental.extraStrategies = user.experimental.extraStrategies
    session
  }
}
