// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import org.apache.spark.sql.catalyst.expressions.{InputFileBlockLength, InputFileBlockStart, InputFileName}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** Spark's functions of the file that a task reads. */
private[zonemap] object FileNames {

  /** True if an expression of the operator itself has such a function. */
  def areAskedBy(operator: LogicalPlan): Boolean =
    operator.expressions.exists(_.exists {
      case _: InputFileName | _: InputFileBlockStart | _: InputFileBlockLength => true
      case _                                                                   => false
    })
}
