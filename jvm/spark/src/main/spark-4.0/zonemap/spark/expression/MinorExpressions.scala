// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.internal.SQLConf

/** Functions of Spark that have another name in each minor version of Spark; here, those of Spark 4.0. */
private[zonemap] object MinorExpressions extends FunctionsOfSparkFour {

  /** A timestamp plus an interval. */
  type TimestampAddInterval = org.apache.spark.sql.catalyst.expressions.TimeAdd

  /** The conf that rounds decimals of more than 38 digits, if arithmetic reads it when it evaluates rows. */
  def decimalConf: Option[String] = Some(SQLConf.DECIMAL_OPERATIONS_ALLOW_PREC_LOSS.key)
}
