// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

/** Functions of Spark that have another name in each minor version of Spark; here, those of Spark 4.0. */
private[zonemap] object MinorExpressions extends FunctionsOfSparkFour {

  /** A timestamp plus an interval. */
  type TimestampAddInterval = org.apache.spark.sql.catalyst.expressions.TimeAdd
}
