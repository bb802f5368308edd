package zonemap.iceberg.plan

import scala.util.control.NonFatal

/**
 * Matches the failures of our own work after which Iceberg plans: all but interruption and control flow.
 *
 * Errors of the JVM are among them. A fault in the pages of a spilled file is an InternalError, and memory or stack that
 * planning from the index uses up is free again when the index is let go of. None is dropped silently: each becomes the
 * reason of a plan, or a warning.
 */
private[zonemap] object Survivable {
  def unapply(error: Throwable): Option[Throwable] =
    error match {
      case NonFatal(_) | _: LinkageError | _: VirtualMachineError => Some(error)
      case _                                                      => None
    }
}
