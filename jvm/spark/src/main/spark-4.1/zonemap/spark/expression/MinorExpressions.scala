// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

/** Functions of Spark that have another name in each minor version of Spark; here, those of Spark 4.1. */
private[zonemap] object MinorExpressions extends FunctionsOfSparkFour {

  /** A timestamp plus an interval. */
  type TimestampAddInterval = org.apache.spark.sql.catalyst.expressions.TimestampAddInterval

  /** The conf that rounds decimals of more than 38 digits, if arithmetic reads it when it evaluates rows: this Spark reads it before. */
  def decimalConf: Option[String] = None
}
