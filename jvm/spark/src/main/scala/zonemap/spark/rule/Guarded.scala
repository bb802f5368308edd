package zonemap.spark.rule

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

/** A rule never fails a query. */
private[spark] object Guarded {
  private val log = LoggerFactory.getLogger("zonemap.planner")

  /** What `body` answers; nothing, and a warning, where it fails. */
  def orNothing[A](purpose: String)(body: => Option[A]): Option[A] =
    try body
    catch {
      case e @ (NonFatal(_) | _: LinkageError | _: StackOverflowError) =>
        log.warn(s"Zonemap: a query is planned without $purpose: $e")
        None
    }
}
