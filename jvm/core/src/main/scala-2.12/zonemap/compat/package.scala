// SPDX-License-Identifier: Apache-2.0
package zonemap

import scala.collection.immutable
import scala.collection.mutable
import scala.util.Try
import scala.util.matching.Regex

/**
 * Methods of Scala 2.13 that the sources use and Scala 2.12 lacks, with the same results. The build imports this object
 * into each source that it compiles with Scala 2.12, and writes `strictSeq` where the source has `toSeq`.
 */
package object compat extends CompatOfIterables {
  type IterableOnce[+A] = TraversableOnce[A]

  implicit final class CompatOption(private val option: Option.type) extends AnyVal {
    def when[A](condition: Boolean)(value: => A): Option[A] = if (condition) Some(value) else None
    def unless[A](condition: Boolean)(value: => A): Option[A] = if (condition) None else Some(value)
  }

  implicit final class CompatOfOption[A](private val of: Option[A]) extends AnyVal {
    def zip[B](other: Option[B]): Option[(A, B)] = for (a <- of; b <- other) yield (a, b)
    def strictSeq: Seq[A] = of.toList
  }

  implicit final class CompatIterator(private val iterator: Iterator.type) extends AnyVal {
    def unfold[A, S](start: S)(step: S => Option[(A, S)]): Iterator[A] = new Iterator[A] {
      private var state = start
      private var found: Option[(A, S)] = _

      override def hasNext: Boolean = {
        if (found == null) found = step(state)
        found.isDefined
      }

      override def next(): A = {
        if (!hasNext) throw new NoSuchElementException("next on empty iterator")
        val (value, after) = found.get
        state = after
        found = null
        value
      }
    }
  }

  implicit final class CompatOfIterator[A](private val of: Iterator[A]) extends AnyVal {
    def nextOption(): Option[A] = if (of.hasNext) Some(of.next()) else None
    def distinct: Iterator[A] = distinctBy(a => a)
    def distinctBy[B](key: A => B): Iterator[A] = {
      val seen = mutable.HashSet.empty[B]
      of.filter(a => seen.add(key(a)))
    }
    def tapEach[U](f: A => U): Iterator[A] = of.map { a => f(a); a }
  }

  implicit final class CompatOfTraversable[A](private val of: TraversableOnce[A]) extends AnyVal {

    /** An immutable sequence with all elements: `toSeq` of Scala 2.12 is lazy for iterators and shares buffers. */
    def strictSeq: Seq[A] = of match {
      case lazily: Stream[A]       => lazily.toList
      case strict: immutable.Seq[A] => strict
      case other                   => other.toList
    }
    def iterator: Iterator[A] = of.toIterator
    def minOption[B >: A](implicit order: Ordering[B]): Option[A] = if (of.isEmpty) None else Some(of.min(order))
    def maxOption[B >: A](implicit order: Ordering[B]): Option[A] = if (of.isEmpty) None else Some(of.max(order))
    def maxByOption[B](f: A => B)(implicit order: Ordering[B]): Option[A] =
      if (of.isEmpty) None else Some(of.maxBy(f)(order))
  }

  implicit final class CompatOfArray[A](private val of: Array[A]) extends AnyVal {
    def strictSeq: Seq[A] = of.toVector
  }

  implicit final class CompatOfSeq[A](private val of: Seq[A]) extends AnyVal {
    def distinctBy[B](key: A => B): Seq[A] = {
      val seen = mutable.HashSet.empty[B]
      of.filter(a => seen.add(key(a)))
    }
    def sizeIs: Int = of.size
    def groupMap[K, B](key: A => K)(value: A => B): Map[K, Seq[B]] =
      of.groupBy(key).map { case (k, as) => (k, as.map(value)) }
    def groupMapReduce[K, B](key: A => K)(value: A => B)(reduce: (B, B) => B): Map[K, B] =
      of.groupBy(key).map { case (k, as) => (k, as.map(value).reduce(reduce)) }
    def partitionMap[L, R](f: A => Either[L, R]): (Seq[L], Seq[R]) = {
      val sides = of.map(f)
      (sides.collect { case Left(l) => l }, sides.collect { case Right(r) => r })
    }
    def lazyZip[B](other: Seq[B]): runtime.Tuple2Zipped[A, Seq[A], B, Seq[B]] = (of, other).zipped
  }

  implicit final class CompatOfMutableMap[K, V](private val of: mutable.Map[K, V]) extends AnyVal {
    def updateWith(key: K)(change: Option[V] => Option[V]): Option[V] = {
      val before = of.get(key)
      val after = change(before)
      after match {
        case Some(value) => of.update(key, value)
        case None        => if (before.isDefined) of.remove(key)
      }
      after
    }
  }

  implicit final class CompatProduct(private val of: Product) extends AnyVal {

    /** The names of the fields of a case class, which are its first fields. */
    def productElementNames: Iterator[String] =
      of.getClass.getDeclaredFields.iterator.map(_.getName).filterNot(_.contains("$")).take(of.productArity)
  }

  implicit final class CompatString(private val text: String) extends AnyVal {
    def toLongOption: Option[Long] = Try(java.lang.Long.parseLong(text)).toOption
    def toIntOption: Option[Int] = Try(java.lang.Integer.parseInt(text)).toOption
    def toDoubleOption: Option[Double] = Try(java.lang.Double.parseDouble(text)).toOption
    def toBooleanOption: Option[Boolean] =
      if (text.equalsIgnoreCase("true")) Some(true) else if (text.equalsIgnoreCase("false")) Some(false) else None
  }

  implicit final class CompatRegex(private val regex: Regex) extends AnyVal {
    def matches(text: CharSequence): Boolean = regex.pattern.matcher(text).matches()
  }
}
