// SPDX-License-Identifier: Apache-2.0
package zonemap.compat

/** What any collection has: methods of `Seq` come first. */
private[zonemap] trait CompatOfIterables {
  implicit final def compatOfIterable[A](of: Iterable[A]): CompatOfIterables.Methods[A] =
    new CompatOfIterables.Methods(of)
}

private[zonemap] object CompatOfIterables {
  final class Methods[A](private val of: Iterable[A]) extends AnyVal {
    def sizeIs: Int = of.size
    def groupMap[K, B](key: A => K)(value: A => B): Map[K, Iterable[B]] =
      of.groupBy(key).map { case (k, as) => (k, as.map(value)) }
    def groupMapReduce[K, B](key: A => K)(value: A => B)(reduce: (B, B) => B): Map[K, B] =
      of.groupBy(key).map { case (k, as) => (k, as.toList.map(value).reduce(reduce)) }
  }
}
