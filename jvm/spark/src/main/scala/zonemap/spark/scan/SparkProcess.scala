// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import java.lang.ref.WeakReference

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import zonemap.core.io.RecentlySeen
import zonemap.iceberg.registry.CapsSession
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.upkeep.UpkeepProcess
import zonemap.spark.conf.ZoneMapConf

/** All state that zonemap retains in a driver between queries; the session extension has one instance. Thread-safe. */
private[zonemap] final class SparkProcess(val iceberg: UpkeepProcess) {

  /**
   * The last messages about confs that were logged, so that each is logged once; a message that newer ones have
   * displaced may be logged again.
   */
  val confWarnings = new RecentlySeen[String](256)

  /** The broadcasts that scans share. */
  val broadcasts = new SharedBroadcasts

  /** The tables that the index can plan. */
  val tables = new PlannableTables(this)

  /**
   * The settings of a session that is about to call a procedure; applies the caps in them.
   *
   * @throws zonemap.spark.conf.MalformedConfException if a value is not allowed
   */
  def settings(spark: SparkSession): PlannerSettings = {
    val settings = ZoneMapConf.read(SQLConf.get, CaseInsensitiveStringMap.empty()).fold(throw _, _.planner)
    use(settings, Some(spark))
    settings
  }

  /** Applies the caps in these settings, which a session is about to plan or to build with. */
  def use(settings: PlannerSettings, session: Option[SparkSession] = SparkSession.getActiveSession): Unit =
    iceberg.use(settings, session.fold[CapsSession](CapsSession.Nobody)(new SparkCaps(_)))
}

/** A Spark session that may set the caps of the process, for as long as it is in use and its context runs. */
private final class SparkCaps(session: SparkSession) extends CapsSession {
  private val reference = new WeakReference(session)

  override def isOver: Boolean = Option(reference.get).forall(_.sparkContext.isStopped)

  override def equals(other: Any): Boolean =
    other match {
      case caps: SparkCaps => Option(reference.get).exists(_ eq caps.reference.get)
      case _               => false
    }

  override def hashCode: Int = System.identityHashCode(reference.get)
}
