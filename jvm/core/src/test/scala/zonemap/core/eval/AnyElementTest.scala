// SPDX-License-Identifier: Apache-2.0
package zonemap.core.eval

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.{Rng, Seeded}
import zonemap.core.column.ColumnBounds
import zonemap.core.fact.{Fact, FactBuilder, FactFile, FactKey, FactKind}
import zonemap.core.io.ByteSource
import zonemap.core.predicate._
import zonemap.core.rule.{ColumnZone, Match, ZoneMatch}
import zonemap.core.value._

/** Conditions on elements of lists: a file is pruned only if no row has an element that meets them (S156). */
class AnyElementTest extends AnyFunSuite with Seeded {
  private val element = ColumnRef(2, LongType, "list.element")
  private val other = ColumnRef(3, LongType, "list.element.other")
  private val key = FactKey.of("file", 1)

  private def long(value: Long): ZoneValue = ZoneValues.ofLong(value)

  private def factOf(kind: FactKind, cells: Seq[Option[Long]]): Option[Fact] = {
    val builder = FactBuilder.of(kind, cells.size.toLong, 100)
    cells.foreach(_.fold(builder.addNull())(value => builder.add(long(value))))
    FactFile
      .open(ByteSource.ofBytes(FactFile.encode(kind, element.id, LongType, Seq(key -> builder.build()))))
      .find(key)
  }

  private val kinds = Seq(FactKind.Values, FactKind.Bloom, FactKind.Bounds, FactKind.Ranges, FactKind.Keys)

  /** Whether a fact of the elements prunes the file, if bounds match `byBounds`. */
  private def excludes(
      predicate: Predicate,
      kind: FactKind,
      elements: Seq[Option[Long]],
      byBounds: Match = Match.Some): Boolean =
    FactEvaluator
      .of(predicate, Set((element.id, kind)))
      .exists(_.excludes((id, _) => Option.when(id == element.id)(factOf(kind, elements)).flatten, _ => byBounds))

  private def equal(value: Long) = Compare(element, CompareOp.Eq, long(value))

  test("two elements of a row may meet two conditions, one element meets both parts of one condition (S156)") {
    val oneAndFive = Seq(Some(1L), Some(5L))
    def out(predicate: Predicate) = excludes(predicate, FactKind.Values, oneAndFive)
    assert(!out(Predicate.and(AnyElement(equal(1)), AnyElement(equal(5)))))
    assert(out(AnyElement(And(Seq(equal(1), equal(5))))))
    assert(out(Predicate.and(AnyElement(equal(1)), AnyElement(equal(7)))))
    val above = InRanges(element, ValueRanges.between(long(4), null))
    val below = InRanges(element, ValueRanges.between(null, long(3)))
    assert(!out(Predicate.and(AnyElement(above), AnyElement(below))), "ranges of two conditions are not joined")
    assert(out(AnyElement(And(Seq(above, below)))))
  }

  test("a file without an element has no element that meets a condition, not even IS NULL (S157)") {
    for (kind <- kinds.filter(_ != FactKind.Keys)) assert(excludes(AnyElement(equal(1)), kind, Nil), s"$kind")
    for (kind <- Seq(FactKind.Values, FactKind.Bounds, FactKind.Ranges)) {
      assert(excludes(AnyElement(IsNull(element)), kind, Nil), s"$kind")
      assert(!excludes(AnyElement(IsNull(element)), kind, Seq(None)), s"$kind")
    }
  }

  test("bounds tell nothing about an element (S156)") {
    val one = ColumnZone(LongType, ColumnBounds(long(1), long(1), tight = true, Presence.None, Presence.None))
    for (value <- Seq(1L, 2L)) assert(ZoneMatch.evaluate(AnyElement(equal(value)), _ => Some(one)) == Match.Some)
    val either = AnyElement(Or(Seq(equal(1), equal(7))))
    assert(!excludes(either, FactKind.Values, Seq(Some(1L)), Match.None), "bounds of whole columns are not asked")
    val unknown = AnyElement(Or(Seq(equal(7), Compare(other, CompareOp.Eq, long(1)))))
    assert(!excludes(unknown, FactKind.Values, Seq(Some(1L)), Match.None))
  }

  test("single values of a column are not those of an element (S156)") {
    val never = new RowCondition("never", "never") {
      override protected def evaluate(values: Seq[ZoneValue]): Boolean = false
    }
    val held = new FactLookup {
      override def find(column: ColumnId, kind: FactKind): Option[Fact] = None
      override def held(column: ColumnRef): Option[Seq[ZoneValue]] = Some(Seq(long(1)))
    }
    val condition = Evaluated(Seq(element), never)
    def excludes(predicate: Predicate) =
      FactEvaluator.of(predicate, Set.empty).exists(_.excludes(held, _ => Match.Some))
    assert(excludes(condition) && !excludes(AnyElement(condition)))
  }

  test("simpler forms: constants, conditions that stay apart, texts") {
    assert(Predicate.simplify(AnyElement(And(Seq(True, True)))) == True)
    assert(Predicate.simplify(AnyElement(And(Seq(equal(1), False)))) == False)
    assert(Predicate.and(AnyElement(equal(1)), AnyElement(equal(1))) == AnyElement(equal(1)))
    val both = Predicate.and(AnyElement(equal(1)), AnyElement(equal(5)))
    assert(Predicate.canonical(both) != Predicate.canonical(AnyElement(And(Seq(equal(1), equal(5))))))
    assert(Predicate.canonical(AnyElement(equal(1))) != Predicate.canonical(equal(1)))
    assert(Predicate.describe(AnyElement(equal(1))) == "ANY ELEMENT WITH (list.element = 1)")
    assert(Predicate.columns(both) == Seq(element) && Predicate.isOfElements(Or(Seq(equal(1), both))))
    assert(!Predicate.isOfElements(And(Seq(equal(1), IsNull(other)))))
  }

  test("random rows of lists: what is left out has no row that matches (S156)") {
    var (leftOut, matched) = (0, 0)
    def leaf(rng: Rng): (Predicate, Option[Long] => Boolean) = {
      val value = rng.int(8).toLong
      rng.int(4) match {
        case 0 => (equal(value), _.contains(value))
        case 1 => (Compare(element, CompareOp.Gt, long(value)), _.exists(_ > value))
        case 2 => (In(element, SortedValues.of(Seq(long(value), long(2)))), _.exists(v => v == value || v == 2))
        case _ => (IsNull(element), _.isEmpty)
      }
    }
    def condition(rng: Rng): (Predicate, Seq[Option[Long]] => Boolean) = {
      val (first, isFirst) = leaf(rng)
      val (second, isSecond) = leaf(rng)
      rng.int(3) match {
        case 0 => (AnyElement(first), _.exists(isFirst))
        case 1 => (AnyElement(Predicate.and(first, second)), _.exists(v => isFirst(v) && isSecond(v)))
        case _ => (AnyElement(Predicate.or(first, second)), _.exists(v => isFirst(v) || isSecond(v)))
      }
    }
    rounds(3000) { rng =>
      val rows = Seq.fill(1 + rng.int(4))(Seq.fill(rng.int(4))(Option.when(!rng.chance(15))(rng.int(8).toLong)))
      val (left, isLeft) = condition(rng)
      val (right, isRight) = condition(rng)
      val isBoth = rng.chance(50)
      val predicate = if (isBoth) Predicate.and(left, right) else Predicate.or(left, right)
      val matches = rows.exists(row => if (isBoth) isLeft(row) && isRight(row) else isLeft(row) || isRight(row))
      if (matches) matched += 1
      if (excludes(predicate, rng.pick(kinds), rows.flatten)) {
        leftOut += 1
        assert(!matches, s"$predicate of $rows")
      }
    }
    assert(leftOut > 200 && matched > 200, (leftOut, matched))
  }
}
