// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression, Literal}

import zonemap.core.predicate.Predicate

/** An expression of a scan's columns that gets values while the query runs: they restrict the files that are read. */
private[zonemap] trait RuntimeKey {

  /** The key for people, unique within a scan. */
  def name: String

  /** A word for one value: "key" or "range". */
  def ofOne: String = "key"

  /** The column under which Spark passes the values to the scan, because it passes values of columns only. */
  def passedAs: AttributeReference

  /** True if the key stands for this expression of a runtime filter. */
  def isFor(expression: Expression): Boolean

  /** The rows that the query needs if the key's values are `values`. */
  def whenAmong(values: Seq[Literal]): Predicate
}
