// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import org.apache.spark.SparkThrowable
import org.slf4j.LoggerFactory

import zonemap.iceberg.report.Survivable

/** Catches failures of rules, so that no rule fails a query. */
private[zonemap] object Guarded {
  private val MaxCauses = 16
  private val log = LoggerFactory.getLogger("zonemap.planner")

  /** Returns the result of `body`. If `body` fails, logs a warning and returns `None`. */
  def orNothing[A](purpose: String)(body: => Option[A]): Option[A] =
    try body
    catch {
      case e: Throwable if isCancelled(e) => throw e
      case Survivable(e) =>
        log.warn(s"Zonemap: a query is planned without $purpose: $e")
        None
    }

  /** True if a user has ended the query while a rule ran a job. */
  private def isCancelled(error: Throwable): Boolean =
    Iterator.iterate(error)(_.getCause).takeWhile(_ != null).take(MaxCauses).exists {
      case job: SparkThrowable => SparkMinor.conditionOf(job) == "SPARK_JOB_CANCELLED"
      case _                   => false
    }
}
