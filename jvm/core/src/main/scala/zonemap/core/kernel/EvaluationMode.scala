// SPDX-License-Identifier: Apache-2.0
package zonemap.core.kernel

import zonemap.core.rule.Match

/** Decides which zones an evaluation keeps, as Iceberg's inclusive and strict evaluation do. */
sealed private[kernel] trait EvaluationMode {

  /** Whether a zone with this result is kept. */
  def keeps(result: Match): Boolean
}

private[kernel] object EvaluationMode {

  /** Inclusive: keeps the zones that are not proven free of matching rows. */
  case object MayMatch extends EvaluationMode {
    override def keeps(result: Match): Boolean = result != Match.None
  }

  /** Strict: keeps the zones of which every row is proven to match. */
  case object MustMatch extends EvaluationMode {
    override def keeps(result: Match): Boolean = result == Match.All
  }
}
