// SPDX-License-Identifier: Apache-2.0
package zonemap.insight

import zonemap.spark.part.StartedPart

/** Diagnosis among the parts of the driver of the tests. */
object StartedInsights {
  private[insight] def of(parts: Seq[StartedPart]): StartedInsight =
    parts.collectFirst { case insight: StartedInsight => insight }.get
}
