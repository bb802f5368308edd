// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.report

import java.util.Locale

/** Milliseconds with one decimal, in the same form in each locale. */
private[zonemap] object MillisText {
  def of(millis: Double): String = "%.1f".formatLocal(Locale.ROOT, millis)
}
