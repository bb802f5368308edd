// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.layout

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.column.ColumnBounds
import zonemap.core.predicate._
import zonemap.core.value.{LongType, LongValue, Presence}
import zonemap.iceberg.prune.FileSet

/** The effects of the conditions of one scan: each counts with the others on its column, after all others. */
class ColumnEffectTest extends AnyFunSuite {
  private val Files = 64
  private val columns = IndexedSeq("a", "b", "c").zipWithIndex.map { case (name, i) =>
    ColumnRef(i + 1, LongType, name)
  }

  private def files(random: Random): FileSet =
    FilesOfBounds.of(Seq(LongType, LongType, LongType), Files) { i =>
      columns.map { _ =>
        val lower = if (random.nextBoolean()) i * 10L else random.nextInt(640).toLong
        val upper = LongValue(lower + random.nextInt(90))
        ColumnBounds(LongValue(lower), upper, tight = true, Presence.None, Presence.None)
      }
    }

  private def predicate(random: Random): Predicate = {
    val (column, value) = (columns(random.nextInt(3)), LongValue(random.nextInt(700).toLong))
    random.nextInt(5) match {
      case 0 => NotNull(column)
      case 1 => Compare(column, CompareOp.Eq, value)
      case 2 => Or(Seq(Compare(column, CompareOp.Lt, value), Compare(columns(0), CompareOp.Gt, value)))
      case 3 => Compare(column, CompareOp.GtEq, value)
      case _ => Compare(column, CompareOp.Lt, value)
    }
  }

  /** The effect of one condition, by evaluating all others for it. */
  private def alone(condition: ScanCondition, all: Seq[ScanCondition], live: FileSet): ColumnEffect = {
    def column(of: ScanCondition) =
      ColumnEffect.single(of.predicate).map(_.id).filterNot(_ => ColumnEffect.isNotNull(of.predicate))
    val (same, others) = all.partition { other =>
      (other eq condition) || (column(condition).isDefined && column(other) == column(condition))
    }
    val kept = ScanCondition.keep(live, others)
    ColumnEffect.of(kept, ScanCondition.keep(kept, same), Predicate.and(same.map(_.predicate): _*))
  }

  for (seed <- 1 to 40)
    test(s"the effects of all conditions are those of each by itself: seed $seed") {
      val random = new Random(seed.toLong)
      val live = files(random)
      val conditions = Seq.fill(1 + random.nextInt(8)) {
        if (random.nextBoolean()) ScanCondition(filter = predicate(random))
        else ScanCondition(derived = predicate(random))
      }
      assert(ColumnEffect.ofEach(conditions, live) == conditions.map(alone(_, conditions, live)))
    }

  test("no condition, and conditions over no file") {
    assert(ColumnEffect.ofEach(Nil, files(new Random(1))) == Nil)
    val none = files(new Random(1)).keep(Compare(columns(0), CompareOp.Lt, LongValue(-1)))
    val effects =
      ColumnEffect.ofEach(Seq(ScanCondition(filter = Compare(columns(1), CompareOp.Eq, LongValue(3)))), none)
    assert(effects.map(_.effect.code) == Seq("CONDITION_PRUNES"))
  }

  test("hundreds of conditions on one column have one effect, which is found once") {
    val live = files(new Random(2))
    val conditions = (0 until 500).map(i => ScanCondition(filter = DistinctFrom(columns(0), LongValue(i.toLong))))
    val other = ScanCondition(filter = Compare(columns(1), CompareOp.Lt, LongValue(300)))
    val effects = ColumnEffect.ofEach(conditions :+ other, live)
    assert(effects.size == 501 && effects.take(500).forall(_ eq effects.head))
    assert(effects.head == alone(conditions.head, conditions :+ other, live))
  }
}
