// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.types.DataType

import zonemap.iceberg.convert.VariantPath

/** Matches the value at a literal path in a variant: this Spark has no variants. */
private[expression] object ValueInVariant {
  def unapply(found: Expression): Option[(Expression, VariantPath)] = None

  def of(path: VariantPath): (DataType, Any => Any) =
    throw new UnsupportedOperationException(s"Spark without variants cannot read ${path.path}.")
}
