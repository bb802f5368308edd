// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.fact

import zonemap.core.fact.FactKind

/** Which files of facts a build joins. */
private[fact] object FactJoins {

  /** Files of facts smaller than this are joined, up to about twice the size: each is a request to a remote store. */
  val SmallBytes: Long = 4L << 20

  /** The largest file of keys that joins make: about 1.5 * 10^9 keys, whose join takes the driver some ten minutes. */
  val MostBytes: Long = 4L << 30

  /** A file of keys is joined with smaller ones if it is at most so many times as large as these together. */
  private val Ratio = 2L

  /** Groups of files that become one file each. */
  def groups[A](kind: FactKind, files: Seq[A])(sizeOf: A => Long): Seq[Seq[A]] =
    if (kind == FactKind.Keys) ofSimilarSize(files)(sizeOf) else small(files)(sizeOf)

  private def small[A](files: Seq[A])(sizeOf: A => Long): Seq[Seq[A]] = {
    val (joined, large) = files.partition(sizeOf(_) < SmallBytes)
    large.map(Seq(_)) ++ joined.foldLeft(List.empty[List[A]]) {
      case (group :: done, next) if group.map(sizeOf).sum < SmallBytes => (next :: group) :: done
      case (done, next)                                                => List(next) :: done
    }
  }

  /**
   * A look-up of a key makes a request to every file of keys, so all of them are joined, but only with files that are
   * not much smaller: each join of a key then makes its file larger by half, so a key is written a logarithmic number of
   * times, and the number of files that are below [[MostBytes]] is logarithmic too.
   */
  private def ofSimilarSize[A](files: Seq[A])(sizeOf: A => Long): Seq[Seq[A]] =
    files
      .sortBy(sizeOf)
      .foldLeft(List.empty[(Long, List[A])]) {
        case ((bytes, group) :: done, next) if isJoined(bytes, sizeOf(next)) =>
          (bytes + sizeOf(next), next :: group) :: done
        case (done, next) => (sizeOf(next), List(next)) :: done
      }
      .map(_._2)

  private def isJoined(smaller: Long, next: Long): Boolean =
    smaller + next <= SmallBytes || (next <= Ratio * smaller && smaller + next <= MostBytes)
}
