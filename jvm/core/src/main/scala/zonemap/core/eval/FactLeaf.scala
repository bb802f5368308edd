// SPDX-License-Identifier: Apache-2.0
package zonemap.core.eval

import java.util.{BitSet, IdentityHashMap}

import zonemap.core.fact.{
  Fact,
  FactHashes,
  FactKind,
  KeyIndex,
  KeysOfFile,
  KnownRanges,
  KnownValues,
  NGramBloom,
  ValueBloom
}
import zonemap.core.predicate._
import zonemap.core.rule.{LeafRule, Match}
import zonemap.core.value.{BytesValue, ColumnType, ReplacedText, StringType, ZoneValue}

/**
 * A leaf that is evaluated on facts. The rules and hashes derived from its literals are computed once, not once per
 * file. Not thread-safe.
 *
 * docs/design/SOUNDNESS.md argues each kind of fact, S16, S79 to S82, S90 and S146.
 *
 * @param work what the plan may spend on facts; a fact proves nothing once it is spent
 */
final private[eval] class FactLeaf(leaf: Leaf, work: FactWorkLimit) {
  private var rules = Map.empty[ColumnType, Option[LeafRule]]
  private var hashes = Map.empty[ColumnType, Option[Array[Long]]]
  private val looked = new IdentityHashMap[KeyIndex, Option[BitSet]]

  /** The kinds of facts that may prove that no row matches this leaf. */
  val kinds: Seq[FactKind] =
    if (FactLeaf.literals(leaf).exists(FactLeaf.mayStandForOthers(leaf, _))) Nil
    else
      (if (leaf.isInstanceOf[Contains]) Nil else Seq(FactKind.Bounds, FactKind.Ranges)) ++
        Seq(FactKind.Values) ++
        (if (FactLeaf.points(leaf).isDefined) Seq(FactKind.Keys, FactKind.Bloom) else Nil) ++
        Option.when(FactLeaf.texts(leaf).isDefined)(FactKind.NGrams)

  /** True if the fact proves that no row of its file matches. */
  def isExcludedBy(fact: Fact): Boolean =
    ColumnType.comparable(fact.columnType, leaf.column.columnType) && (fact match {
      case _: KnownValues | _: KnownRanges => FactLeaf.cells(fact).forall(isExcludedFor(fact.columnType, _))
      case bloom: ValueBloom => pointHashes(bloom.columnType).exists(_.forall(h => work.spend() && !bloom.mayHold(h)))
      case keys: KeysOfFile =>
        candidates(keys.columnType, keys.index).exists(files => work.spend() && !files.get(keys.ordinal))
      case grams: NGramBloom =>
        textGrams.exists(_.forall { runs =>
          work.spend(runs.iterator.map(_.length.toLong).sum) && !runs.forall(_.exists(grams.mayHold))
        })
    })

  /** True if it is proven that a row with this cell, stored as type `stored`, does not match. */
  def isExcludedFor(stored: ColumnType, cell: Cell): Boolean = work.spend() && ((leaf, cell) match {
    case (Contains(_, parts, ignoresCase), Cell.Value(text: BytesValue)) =>
      !parts.forall(work.mayHold(text.bytes, _, ignoresCase))
    case (_: Contains, _: Cell.Value) => false
    case _ =>
      ruleFor(stored).exists { rule =>
        val answer = cell match {
          case Cell.Null               => rule.nullRows
          case Cell.NaN                => rule.nanRows
          case Cell.Value(value)       => rule.ofValues(value, value, tight = true)
          case Cell.Range(first, last) => rule.ofValues(first, last, tight = true)
        }
        answer == Match.None
      }
  })

  private def ruleFor(stored: ColumnType): Option[LeafRule] = {
    if (!rules.contains(stored)) rules += stored -> LeafRule.of(leaf, stored)
    rules(stored)
  }

  /** The hashes of all values that match the leaf; None if a value cannot be encoded in the stored type. */
  private def pointHashes(stored: ColumnType): Option[Array[Long]] = {
    if (!hashes.contains(stored)) {
      val encoded = FactLeaf.points(leaf).map(_.map(stored.reencode(_, leaf.column.columnType)))
      val told = encoded.filter(_.forall(_.isDefined)).map(_.flatten.map(FactHashes.ofValue).toArray)
      hashes += stored -> told
    }
    hashes(stored)
  }

  /** The data files of an index that may hold a matching value; None if nothing is proven. Each index is read once. */
  def candidates(stored: ColumnType, keys: KeyIndex): Option[BitSet] =
    looked.computeIfAbsent(
      keys,
      index =>
        if (ColumnType.comparable(stored, leaf.column.columnType))
          pointHashes(stored).filter(h => work.spendLookUps(h.length)).flatMap(index.holding)
        else None
    )

  /** For each alternative, the n-grams of which every matching text contains one variant each. */
  private lazy val textGrams: Option[Seq[Array[Array[Long]]]] =
    FactLeaf.texts(leaf).map(_.map(_.flatMap(FactHashes.grams(_, FactLeaf.ignoresCase(leaf))).toArray))
}

/** A value, or a range of values, that a row may hold in a column. */
sealed private[eval] trait Cell

private[eval] object Cell {
  case object Null extends Cell
  case object NaN extends Cell
  final case class Value(value: ZoneValue) extends Cell

  /** A value from `first` to `last`, held by some rows. */
  final case class Range(first: ZoneValue, last: ZoneValue) extends Cell
}

private[eval] object FactLeaf {

  /** The kinds of facts that describe all values which the rows of a file hold. */
  val kindsOfCells: Seq[FactKind] = Seq(FactKind.Bounds, FactKind.Ranges, FactKind.Values)

  /** All cells that the rows of a file hold, according to a fact of one of these kinds. */
  def cells(fact: Fact): Iterator[Cell] = fact match {
    case known: KnownValues => presence(known.hasNulls, known.hasNaN) ++ known.values.iterator.map(Cell.Value)
    case known: KnownRanges =>
      presence(known.hasNulls, known.hasNaN) ++ known.ranges.iterator.map { case (first, last) =>
        Cell.Range(first, last)
      }
    case _ => throw new IllegalArgumentException(s"$fact does not say what there is")
  }

  private def presence(hasNulls: Boolean, hasNaN: Boolean): Iterator[Cell] =
    Iterator(Cell.Null).filter(_ => hasNulls) ++ Iterator(Cell.NaN).filter(_ => hasNaN)

  /**
   * The values that match the leaf, if the leaf matches only listed values; else None. NaN and null rows do not match
   * such a leaf.
   */
  private def points(leaf: Leaf): Option[Seq[ZoneValue]] = leaf match {
    case Compare(_, CompareOp.Eq, value) => Some(Seq(value))
    case In(_, values)                   => Some(values.iterator.toSeq)
    case InRanges(_, ranges) =>
      val isPoints =
        ranges.iterator.forall(r => r.from != null && ValueRanges.successor(r.from) == r.until)
      Option.when(isPoints)(ranges.iterator.map(_.from).toSeq)
    case _ => None
  }

  /**
   * Alternatives, each a list of parts: a matching text contains all parts of at least one alternative. None if every
   * part of some alternative is shorter than an n-gram.
   */
  private def texts(leaf: Leaf): Option[Seq[Seq[BytesValue]]] = {
    val alternatives = (leaf, leaf.column.columnType) match {
      case (Contains(_, parts, _), StringType) => Some(Seq(parts))
      case (StartsWith(_, prefix), StringType) => Some(Seq(Seq(prefix)))
      case (_, StringType)                     => points(leaf).map(_.collect { case text: BytesValue => Seq(text) })
      case _                                   => None
    }
    alternatives.filter(_.forall(_.exists(_.bytes.length >= FactHashes.GramBytes)))
  }

  private def ignoresCase(leaf: Leaf): Boolean = leaf match {
    case Contains(_, _, ignored) => ignored
    case _                       => false
  }

  private def literals(leaf: Leaf): Iterator[ZoneValue] = leaf match {
    case Compare(_, _, value)           => Iterator(value)
    case DistinctFrom(_, value)         => Iterator(value)
    case In(_, values)                  => values.iterator
    case NotIn(_, values)               => values.iterator
    case NotInOrNull(_, values)         => values.iterator
    case InRanges(_, ranges)            => ranges.iterator.flatMap(r => Iterator(r.from, r.until)).filter(_ != null)
    case StartsWith(_, prefix)          => Iterator(prefix)
    case NotStartsWith(_, prefix)       => Iterator(prefix)
    case NotStartsWithOrNull(_, prefix) => Iterator(prefix)
    case Contains(_, parts, _)          => parts.iterator
    case _                              => Iterator.empty
  }

  /** Whether a text literal may represent other bytes than those that rows hold. Facts prove nothing for it. */
  private def mayStandForOthers(leaf: Leaf, literal: ZoneValue): Boolean = literal match {
    case text: BytesValue if leaf.column.columnType == StringType => ReplacedText.isIn(text)
    case _                                                        => false
  }
}
