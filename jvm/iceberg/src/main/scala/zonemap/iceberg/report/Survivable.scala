// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.report

import scala.util.control.NonFatal

/**
 * Matches the failures of the extension's own work after which Iceberg plans: all but interruption and control flow.
 *
 * Errors of the JVM are included. A fault in the pages of a spilled file is an InternalError. Memory or stack that
 * planning from the index exhausts is free again when the index is released. No failure is dropped silently: each
 * becomes the reason of a plan, or a warning.
 */
private[zonemap] object Survivable {
  def unapply(error: Throwable): Option[Throwable] =
    error match {
      case NonFatal(_) | _: LinkageError | _: VirtualMachineError => Some(error)
      case _                                                      => None
    }
}
