package zonemap.spark.scan

import java.lang.ref.WeakReference

import org.apache.spark.sql.SparkSession

import zonemap.core.io.Recent
import zonemap.iceberg.registry.CapsSession
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.upkeep.UpkeepProcess

/** Everything that this product keeps in a driver between queries; the session extension has one. Thread-safe. */
private[spark] final class SparkProcess(val iceberg: UpkeepProcess) {

  /** Messages about confs that were logged, each once; one that was pushed out by others may come again. */
  val confWarnings = new Recent[String](256)

  /** A session is about to plan or to build with these settings. */
  def use(settings: PlannerSettings, session: Option[SparkSession] = SparkSession.getActiveSession): Unit =
    iceberg.index.use(settings, session.fold[CapsSession](CapsSession.Nobody)(new SparkCaps(_)))
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
