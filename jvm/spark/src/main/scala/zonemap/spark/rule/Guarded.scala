package zonemap.spark.rule

import org.slf4j.LoggerFactory

import zonemap.iceberg.plan.Survivable

/** A rule never fails a query. */
private[spark] object Guarded {
  private val log = LoggerFactory.getLogger("zonemap.planner")

  /** What `body` answers; nothing, and a warning, where it fails. */
  def orNothing[A](purpose: String)(body: => Option[A]): Option[A] =
    try body
    catch {
      case Survivable(e) =>
        log.warn(s"Zonemap: a query is planned without $purpose: $e")
        None
    }
}
