// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import org.slf4j.LoggerFactory

import zonemap.iceberg.report.Survivable

/** Catches failures of rules, so that no rule fails a query. */
private[zonemap] object Guarded {
  private val log = LoggerFactory.getLogger("zonemap.planner")

  /** Returns the result of `body`. If `body` fails, logs a warning and returns `None`. */
  def orNothing[A](purpose: String)(body: => Option[A]): Option[A] =
    try body
    catch {
      case Survivable(e) =>
        log.warn(s"Zonemap: a query is planned without $purpose: $e")
        None
    }
}
