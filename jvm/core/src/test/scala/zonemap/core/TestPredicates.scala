// SPDX-License-Identifier: Apache-2.0
package zonemap.core

import zonemap.core.predicate._
import zonemap.core.value.{BinaryType, BytesValue, ColumnType, StringType, UuidType}

/** A random predicate, with a function that evaluates it on one row: a map from field id to value, null or NaN. */
final case class Told(predicate: Predicate, isTrue: Map[Int, Any] => Boolean)

object TestPredicates {

  /** Random And/Or trees of leaves on `columns`; field id i + 1 has the i-th type. */
  def tree(columns: Seq[ColumnType], depth: Int, rng: Rng): Told =
    if (depth == 0 || rng.chance(35)) leaf(columns, rng)
    else {
      val children = Seq.fill(1 + rng.int(3))(tree(columns, depth - 1, rng))
      if (rng.chance(50)) Told(And(children.map(_.predicate)), row => children.forall(_.isTrue(row)))
      else Told(Or(children.map(_.predicate)), row => children.exists(_.isTrue(row)))
    }

  private def leaf(columns: Seq[ColumnType], rng: Rng): Told =
    if (rng.chance(12)) ofColumns(columns, rng).getOrElse(ofOne(columns, rng)) else ofOne(columns, rng)

  /**
   * A comparison of two columns of comparable types; in the small domains of the model their values are often equal.
   */
  private def ofColumns(columns: Seq[ColumnType], rng: Rng): Option[Told] = {
    val pairs = for {
      left <- columns.indices
      right <- columns.indices
      if left != right && ColumnType.comparable(columns(left), columns(right)) && columns(left) != UuidType
    } yield (left, right)
    Option.when(pairs.nonEmpty) {
      val (left, right) = rng.pick(pairs)
      val op = rng.pick(Seq(CompareOp.Lt, CompareOp.LtEq, CompareOp.Eq))
      def ref(index: Int) = ColumnRef(index + 1, columns(index), s"c${index + 1}")
      Told(
        CompareColumns(ref(left), op, ref(right)),
        row => {
          val (a, b) = (row(left + 1), row(right + 1))
          a != null && b != null && holds(op, TestModel.compare(a, b))
        })
    }
  }

  private def ofOne(columns: Seq[ColumnType], rng: Rng): Told = {
    val index = rng.int(columns.size)
    val column = ColumnRef(index + 1, columns(index), s"c${index + 1}")
    val told = column.columnType match {
      case StringType | BinaryType if rng.chance(30) => ofPrefix(column, rng)
      case t if t.mayHoldNaN && rng.chance(20)       => ofNaN(column, rng)
      case _                                         => ofValues(column, rng)
    }
    Told(told.predicate, row => told.isTrue(row))
  }

  private def isNaN(v: Any) = v match {
    case d: Double => d.isNaN
    case _         => false
  }

  private def on(leaf: Leaf, nullRow: Boolean)(test: Any => Boolean): Told =
    Told(leaf, row => if (row(leaf.column.fieldId) == null) nullRow else test(row(leaf.column.fieldId)))

  private def ofNaN(column: ColumnRef, rng: Rng): Told = rng.int(3) match {
    case 0 => on(IsNaN(column), nullRow = false)(isNaN)
    case 1 => on(NotNaN(column), nullRow = true)(!isNaN(_))
    case _ =>
      val op = rng.pick(CompareOp.values)
      Told(
        Predicate.compareToNaN(column, op),
        row => row(column.fieldId) != null && holds(op, TestModel.compare(row(column.fieldId), Double.NaN)))
  }

  private def ofPrefix(column: ColumnRef, rng: Rng): Told = {
    val prefix = TestModel.value(column.columnType, rng)
    val encoded = TestModel.encode(column.columnType, prefix).asInstanceOf[BytesValue]
    rng.int(3) match {
      case 0 => on(StartsWith(column, encoded), nullRow = false)(TestModel.startsWith(_, prefix))
      case 1 => on(NotStartsWith(column, encoded), nullRow = false)(!TestModel.startsWith(_, prefix))
      case _ => on(NotStartsWithOrNull(column, encoded), nullRow = true)(!TestModel.startsWith(_, prefix))
    }
  }

  private def ofValues(column: ColumnRef, rng: Rng): Told = {
    val t = column.columnType
    val literal = TestModel.value(t, rng)
    val encoded = TestModel.encode(t, literal)
    val several = Seq.fill(rng.int(5))(TestModel.value(t, rng))
    val set = TestModel.sorted(t, several)
    def in(v: Any) = several.exists(TestModel.compare(v, _) == 0)
    rng.int(12) match {
      case 0 => on(IsNull(column), nullRow = true)(_ => false)
      case 1 => on(NotNull(column), nullRow = false)(_ => true)
      case 2 => on(DistinctFrom(column, encoded), nullRow = true)(TestModel.compare(_, literal) != 0)
      case 3 => on(In(column, set), nullRow = false)(in)
      case 4 => on(NotIn(column, set), nullRow = false)(!in(_))
      case 5 => on(NotInOrNull(column, set), nullRow = true)(!in(_))
      case 6 | 7 if t != UuidType => ofRanges(column, rng)
      case _ =>
        val op = rng.pick(CompareOp.values)
        on(Compare(column, op, encoded), nullRow = false)(v => holds(op, TestModel.compare(v, literal)))
    }
  }

  private def ofRanges(column: ColumnRef, rng: Rng): Told = {
    val t = column.columnType
    val ends = Seq.fill(rng.int(4)) {
      val Seq(from, until) = Seq.fill(2)(TestModel.value(t, rng)).sortWith(TestModel.compare(_, _) < 0)
      (if (rng.chance(10)) null else from, if (rng.chance(10)) null else until)
    }
    def encode(end: Any) = if (end == null) null else TestModel.encode(t, end)
    val ranges = ends.map { case (f, u) => ValueRanges.between(encode(f), encode(u)) }
    def in(v: Any) = !isNaN(v) && ends.exists { case (from, until) =>
      (from == null || TestModel.compare(from, v) <= 0) && (until == null || TestModel.compare(v, until) < 0)
    }
    on(InRanges(column, ranges.foldLeft(ValueRanges.empty)(_ union _)), nullRow = false)(in)
  }

  private def holds(op: CompareOp, order: Int): Boolean = op match {
    case CompareOp.Lt    => order < 0
    case CompareOp.LtEq  => order <= 0
    case CompareOp.Gt    => order > 0
    case CompareOp.GtEq  => order >= 0
    case CompareOp.Eq    => order == 0
    case CompareOp.NotEq => order != 0
  }
}
