// SPDX-License-Identifier: Apache-2.0
package zonemap.core.value

/** How the values of a column are stored and ordered. */
sealed private[zonemap] trait Encoding

private[zonemap] object Encoding {

  /** Order-preserving signed 64-bit integers. */
  case object Longs extends Encoding

  /** Byte strings in unsigned lexicographic order. */
  case object Bytes extends Encoding
}
