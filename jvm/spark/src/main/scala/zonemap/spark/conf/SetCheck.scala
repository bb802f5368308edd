// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.conf

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.command.SetCommand

/**
 * Refuses a `SET` of a value that a conf does not allow. A malformed value that a session gets in another way never fails
 * it: Iceberg plans its queries, with the reason MALFORMED_CONF.
 */
private[zonemap] final class SetCheck(confs: Seq[ConfEntry[_]]) extends (LogicalPlan => Unit) {
  private val known = confs.map(entry => (entry.key, entry: ConfEntry[_])).toMap[String, ConfEntry[_]]

  override def apply(plan: LogicalPlan): Unit =
    plan match {
      case SetCommand(Some((key, Some(value)))) => known.get(key).foreach(_.valueOf(value))
      case _                                    => ()
    }
}
