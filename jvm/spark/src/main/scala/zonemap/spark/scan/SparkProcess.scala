package zonemap.spark.scan

import java.lang.ref.WeakReference

import org.apache.spark.sql.SparkSession

import zonemap.core.io.Recent
import zonemap.iceberg.advice.ObservedScan
import zonemap.iceberg.registry.CapsSession
import zonemap.iceberg.report.Newest
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.upkeep.UpkeepProcess

/** All state that zonemap retains in a driver between queries; the session extension has one instance. Thread-safe. */
private[spark] final class SparkProcess(val iceberg: UpkeepProcess) {

  /**
   * The last messages about confs that were logged, so that each is logged once; a message that newer ones have
   * displaced may be logged again.
   */
  val confWarnings = new Recent[String](256)

  /** How the newest planned queries use their scans. */
  val observed = new Newest[ObservedScan](1000)

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
