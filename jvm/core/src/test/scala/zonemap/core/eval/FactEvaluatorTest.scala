// SPDX-License-Identifier: Apache-2.0
package zonemap.core.eval

import java.nio.ByteBuffer

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.{Rng, Seeded, TestModel, TestPredicates, Told}
import zonemap.core.column.{Bitmap, ColumnBounds, ColumnSpec}
import zonemap.core.fact.{BlockBloom, Fact, FactBuilder, FactFile, FactHashes, FactKey, FactKind, KeyIndex, KeysOfFile}
import zonemap.core.io.ByteSource
import zonemap.core.predicate._
import zonemap.core.rule.{ColumnZone, Match, ZoneMatch}
import zonemap.core.value._

/** Facts prune a file only if no row of the file matches the predicate. */
class FactEvaluatorTest extends AnyFunSuite with Seeded {
  private val key = FactKey.of("file", 1)

  private def factOf(kind: FactKind, t: ColumnType, cells: Seq[Any]): Option[Fact] = {
    val builder = FactBuilder.of(kind, cells.size.toLong, 20)
    cells.foreach {
      case null                 => builder.addNull()
      case d: Double if d.isNaN => builder.addNaN()
      case value                => builder.add(TestModel.encode(t, value))
    }
    FactFile.open(ByteSource.ofBytes(FactFile.encode(kind, ColumnId(1), t, Seq(key -> builder.build())))).find(key)
  }

  private def kindsOf(t: ColumnType) = {
    val others = if (t == StringType) FactKind.values else FactKind.values.filter(_ != FactKind.NGrams)
    if (t.encoding == Encoding.Longs) others else others.filter(_ != FactKind.Ranges)
  }

  private def cells(t: ColumnType, rows: Int, rng: Rng): Seq[Any] = {
    val nulls = rng.pick(Seq(0, 0, 20, 100))
    val nans = if (t.mayHoldNaN) rng.pick(Seq(0, 0, 20, 100)) else 0
    val few = Seq.fill(1 + rng.int(3))(TestModel.value(t, rng))
    Seq.fill(rows)(if (rng.chance(nulls)) null else if (rng.chance(nans)) Double.NaN else rng.pick(few))
  }

  private def containing(columns: Seq[ColumnType], rng: Rng): Option[Told] = {
    val texts = columns.indices.filter(columns(_) == StringType)
    Option.when(texts.nonEmpty) {
      val index = rng.pick(texts)
      val parts = Seq.fill(1 + rng.int(2))(TestModel.value(StringType, rng).asInstanceOf[String]).filter(_.nonEmpty)
      val ignoresCase = rng.chance(50)
      def folded(text: String) =
        if (ignoresCase) text.map(c => if ('A' <= c && c <= 'Z') (c + 32).toChar else c) else text
      Told(
        Contains(ColumnRef(index + 1, StringType, "c"), parts.map(p => BytesValue(p.getBytes("UTF-8"))), ignoresCase),
        row =>
          row(index + 1) != null && parts.forall(p => folded(row(index + 1).asInstanceOf[String]).contains(folded(p)))
      )
    }
  }

  test("random files and predicates: what is left out has no matching row (S16, S78 to S82, S90)") {
    var leftOut = 0
    rounds(4000) { rng =>
      val columns = Seq.fill(1 + rng.int(2))(rng.pick(TestModel.types))
      val rows = 1 + rng.int(12)
      val data = columns.map(cells(_, rows, rng))
      val trees = TestPredicates.tree(columns, rng.int(3), rng) +: containing(columns, rng).toSeq
      val conjunction = rng.chance(50)
      val told =
        if (trees.size == 1) trees.head
        else if (conjunction) Told(And(trees.map(_.predicate)), row => trees.forall(_.isTrue(row)))
        else Told(Or(trees.map(_.predicate)), row => trees.exists(_.isTrue(row)))
      val known =
        columns.indices.flatMap(i => kindsOf(columns(i)).filter(_ => rng.chance(70)).map((ColumnId(i + 1), _))).toSet
      val facts: Map[(ColumnId, FactKind), Fact] = known.flatMap { case (id, kind) =>
        factOf(kind, columns(id.fieldId - 1), data(id.fieldId - 1)).filter(_ => rng.chance(90)).map((id, kind) -> _)
      }.toMap
      val matches = (0 until rows).exists(r => told.isTrue(columns.indices.map(i => (i + 1) -> data(i)(r)).toMap))
      FactEvaluator.of(told.predicate, known).foreach { evaluator =>
        if (evaluator.excludes((id, kind) => facts.get((id, kind)), _ => Match.Some)) {
          leftOut += 1
          assert(!matches, s"${told.predicate} is true for a row of $data of $columns")
        }
      }
    }
    assert(leftOut > 200)
  }

  test("a set of values leaves out whatever matches none of them, but for the order of uuids") {
    rounds(2000) { rng =>
      val t = rng.pick(TestModel.types.filter(_ != UuidType))
      val data = cells(t, 1 + rng.int(6), rng)
      val told = TestPredicates.tree(Seq(t), 0, rng)
      for {
        fact <- factOf(FactKind.Values, t, data)
        evaluator <- FactEvaluator.of(told.predicate, Set((ColumnId(1), FactKind.Values)))
        if told.predicate.isInstanceOf[Leaf]
      } {
        val excluded = evaluator.excludes((_, kind) => Option.when(kind == FactKind.Values)(fact), _ => Match.Some)
        assert(excluded == !data.exists(v => told.isTrue(Map(1 -> v))), s"${told.predicate} of $data")
      }
    }
  }

  private def text(value: String): ZoneValue = ZoneValues.ofString(value)
  private val message = ColumnRef(1, StringType, "message")

  private def excludes(predicate: Predicate, kind: FactKind, t: ColumnType, data: Any*): Boolean =
    FactEvaluator
      .of(predicate, Set((ColumnId(1), kind)))
      .exists(_.excludes((_, _) => factOf(kind, t, data), _ => Match.Some))

  private def parts(texts: String*) = Contains(message, texts.map(t => BytesValue(t.getBytes("UTF-8"))))

  test("n-grams: parts of three bytes and more, equal texts and prefixes") {
    val data = Seq("disk full", "connection reset", null, "\u00e9tat")
    def grams(p: Predicate) = excludes(p, FactKind.NGrams, StringType, data: _*)
    assert(!grams(parts("reset")) && !grams(parts("tion re")) && !grams(parts("\u00e9t")))
    assert(grams(parts("timeout")) && grams(parts("full", "timeout")) && grams(parts("fulls")))
    assert(!grams(parts("zz")), "too short to tell")
    assert(grams(parts("zz", "timeout")), "a short part beside one that tells")
    assert(
      grams(StartsWith(message, BytesValue("time".getBytes))) && !grams(StartsWith(message, BytesValue("ti".getBytes))))
    assert(grams(Compare(message, CompareOp.Eq, text("timeout"))))
    assert(grams(In(message, SortedValues.of(Seq(text("timeout"), text("refused"))))))
    assert(!grams(In(message, SortedValues.of(Seq(text("timeout"), text("x"))))))
    assert(!grams(In(message, SortedValues.of(Seq(text("timeout"), text("disk full"))))), "one of the texts is there")
  }

  test("n-grams and sets of values: parts of any case, of the letters from A to Z only (S155)") {
    val data = Seq("Disk FULL 7", null, "\u00c9tat [x]")
    for (kind <- Seq(FactKind.NGrams, FactKind.Values)) {
      def out(texts: String*) = excludes(parts(texts: _*).copy(ignoresCase = true), kind, StringType, data: _*)
      assert(!out("disk") && !out("DISK") && !out("k full") && !out("sK", "fULl 7") && !out("tAT [X]"))
      assert(out("disc") && out("disk", "disc") && out("TAT {X}") && out("tat [y]"))
      assert(excludes(parts("disk"), kind, StringType, data: _*))
    }
    assert(!excludes(parts("zz").copy(ignoresCase = true), FactKind.NGrams, StringType, data: _*), "too short to tell")
    val folded = parts("disk").copy(ignoresCase = true)
    assert(
      Predicate.canonical(folded) != Predicate
        .canonical(parts("disk")) && Predicate.or(folded, parts("disk")) != folded)
    assert(folded.toString == "message CONTAINS 'disk' IGNORING CASE")
  }

  test("a set of values of another type refutes no part of a text (S78)") {
    val bytes = "disk full".getBytes
    assert(!excludes(parts("timeout"), FactKind.Values, BinaryType, bytes))
    assert(!excludes(And(Seq(parts("timeout"), parts("refused"))), FactKind.Values, BinaryType, bytes))
    assert(excludes(parts("timeout"), FactKind.Values, StringType, "disk full"))
  }

  test("blooms answer points, not orders; both zeros are one; other types are refused") {
    val x = ColumnRef(1, DoubleType, "x")
    def bloom(p: Predicate, data: Any*) = excludes(p, FactKind.Bloom, DoubleType, data: _*)
    val zero = ZoneValues.ofDouble(0.0)
    assert(!bloom(Compare(x, CompareOp.Eq, zero), -0.0) && !bloom(InRanges(x, ValueRanges.point(zero)), -0.0))
    assert(bloom(Compare(x, CompareOp.Eq, zero), Double.NaN, null, 1.0))
    assert(!bloom(Compare(x, CompareOp.Lt, zero), 1.0) && !bloom(Compare(x, CompareOp.NotEq, zero), 1.0))
    assert(!bloom(IsNaN(x), 1.0))
    assert(!excludes(Compare(x, CompareOp.Eq, zero), FactKind.Bloom, StringType, "a"))
    assert(excludes(Compare(x, CompareOp.Eq, zero), FactKind.Bloom, FloatType, 1.5), "promoted from float")
    val wide = ColumnRef(1, DecimalType(30, 2), "d")
    val literal = ZoneValues.ofDecimal(new java.math.BigInteger("150"), DecimalType(30, 2))
    val beyond = ZoneValues.ofDecimal(java.math.BigInteger.TEN.pow(25), DecimalType(30, 2))
    val stored = DecimalType(10, 2)
    val cell = new java.math.BigDecimal("1.50")
    assert(
      !excludes(Compare(wide, CompareOp.Eq, literal), FactKind.Bloom, stored, cell),
      "promoted from decimal(10, 2)")
    assert(excludes(Compare(wide, CompareOp.Eq, beyond), FactKind.Values, stored, cell))
  }

  test("keys answer points, not orders; both zeros are one; other types are refused (S146)") {
    def keys(p: Predicate, data: Any*) = excludes(p, FactKind.Keys, DoubleType, data: _*)
    val x = ColumnRef(1, DoubleType, "x")
    val zero = ZoneValues.ofDouble(0.0)
    assert(keys(Compare(x, CompareOp.Eq, zero), 1.5, null, Double.NaN) && keys(Compare(x, CompareOp.Eq, zero), null))
    assert(!keys(Compare(x, CompareOp.Eq, zero), -0.0) && !keys(Compare(x, CompareOp.Lt, zero), 1.5))
    val both = SortedValues.of(Seq(zero, ZoneValues.ofDouble(1.5)))
    assert(keys(In(x, both), 2.5) && !keys(In(x, both), 2.5, 1.5))
    assert(!excludes(Compare(x, CompareOp.Eq, zero), FactKind.Keys, StringType, "a"))
    assert(excludes(Compare(x, CompareOp.Eq, zero), FactKind.Keys, FloatType, 1.5), "promoted from float")
  }

  test("an index of keys is looked up once for all its files; one that cannot be read proves nothing (S146, S147)") {
    val x = ColumnRef(1, LongType, "x")
    def kept(predicate: Predicate, files: Option[Seq[Int]]) = {
      var calls = 0
      val index = new KeyIndex {
        override def holding(hashes: Array[Long]): Option[java.util.BitSet] = {
          calls += 1
          assert(hashes.forall(_ == FactHashes.ofValue(ZoneValues.ofLong(5))))
          files.map { ordinals =>
            val found = new java.util.BitSet
            ordinals.foreach(found.set)
            found
          }
        }
      }
      val evaluator = FactEvaluator.of(predicate, Set((ColumnId(1), FactKind.Keys))).get
      val of = (0 until 50).filterNot { file =>
        evaluator.excludes((_, _) => Some(new KeysOfFile(LongType, index, file)), _ => Match.Some)
      }
      (of, calls)
    }
    val five = Compare(x, CompareOp.Eq, ZoneValues.ofLong(5))
    assert(kept(five, Some(Seq(7, 31))) == ((Seq(7, 31), 1)) && kept(five, Some(Nil)) == ((Nil, 1)))
    assert(kept(five, None) == ((0 until 50, 1)))
    val many = In(x, SortedValues.of((0 until 100000).map(i => ZoneValues.ofLong(i.toLong))))
    assert(kept(many, Some(Nil)) == ((0 until 50, 0)), "the look-ups would take longer than a plan may (S83)")
  }

  test("a literal that passed through a Java string may stand for other bytes: nothing is left out (S16)") {
    val lost = Compare(message, CompareOp.Eq, text("a\ufffd"))
    assert(kindsOf(StringType).forall(kind => !excludes(lost, kind, StringType, "b", "cccc")))
  }

  test("the work of one plan on facts is bounded: when it is spent, files are kept (S83)") {
    def values(letter: String, bytes: Int) =
      factOf(FactKind.Values, StringType, (0 until 20).map(i => letter * bytes + i))
    def kept(predicate: Predicate, kind: FactKind, files: Int, fact: Option[Fact]) = {
      val evaluator = FactEvaluator.of(predicate, Set((ColumnId(1), kind))).get
      (0 until files).count(_ => !evaluator.excludes((_, _) => fact, _ => Match.Some))
    }
    val many = Or((0 until 1000).map(i => parts(s"b$i")))
    assert(kept(many, FactKind.Values, 10, values("a", 100)) == 0)
    val texts = kept(many, FactKind.Values, 100, values("a", 1000))
    assert(texts > 10 && texts < 90)
    val hard = Or((0 until 10).map(i => parts("a" * 2000 + s"b$i")))
    assert(kept(hard, FactKind.Values, 4, values("a", 4000)) > 0, "a search compares each byte many times")
    val points = In(message, SortedValues.of((0 until 100000).map(i => text(s"b$i"))))
    val bloom = factOf(FactKind.Bloom, StringType, Seq("a"))
    assert(kept(points, FactKind.Bloom, 10, bloom) == 0 && kept(points, FactKind.Bloom, 1000, bloom) > 500)
  }

  test("OR: bounds prove one side and a fact the other; AND: one is enough") {
    val other = ColumnRef(2, LongType, "n")
    val byBounds: Predicate = Compare(other, CompareOp.Gt, ZoneValues.ofLong(5))
    val byFact: Predicate = Compare(message, CompareOp.Eq, text("timeout"))
    val fact = factOf(FactKind.Values, StringType, Seq("full")).get
    val known = Set((ColumnId(1), FactKind.Values: FactKind))
    def asked(p: Predicate, bounds: Match) =
      FactEvaluator.of(p, known).map(_.excludes((id, _) => Option.when(id == ColumnId(1))(fact), _ => bounds))
    assert(asked(Or(Seq(byBounds, byFact)), Match.None).contains(true))
    val onlyFor: Predicate => Match = p => if (p == byBounds) Match.None else Match.Some
    val either = FactEvaluator.of(Or(Seq(byBounds, byFact)), known).get
    assert(either.excludes((id, _) => Option.when(id == ColumnId(1))(fact), onlyFor))
    assert(asked(Or(Seq(byBounds, byFact)), Match.Some).contains(false))
    assert(asked(And(Seq(byBounds, byFact)), Match.Some).contains(true))
    assert(asked(Or(Seq(Unknown("?"), byFact)), Match.Some).contains(false))
    assert(asked(byBounds, Match.Some).isEmpty, "no fact tells of it")
  }

  test("AND of leaves about one column: no value satisfies both") {
    val n = ColumnRef(1, LongType, "n")
    def both(low: Long, high: Long) =
      And(Seq(Compare(n, CompareOp.Gt, ZoneValues.ofLong(low)), Compare(n, CompareOp.Lt, ZoneValues.ofLong(high))))
    val data = Seq(-100L, 7L, 100L, null)
    assert(excludes(both(7, 100), FactKind.Values, LongType, data: _*))
    assert(!excludes(both(6, 8), FactKind.Values, LongType, data: _*))
  }

  test("exact bounds answer orders, null and NaN tests of columns whose manifests tell nothing (S90)") {
    val x = ColumnRef(1, DoubleType, "x")
    def bounds(p: Predicate, data: Any*) = excludes(p, FactKind.Bounds, DoubleType, data: _*)
    def compare(op: CompareOp, value: Double) = Compare(x, op, ZoneValues.ofDouble(value))
    assert(bounds(compare(CompareOp.Gt, 3), 1.0, 3.0, null) && !bounds(compare(CompareOp.GtEq, 3), 1.0, 3.0, null))
    assert(!bounds(compare(CompareOp.Gt, 3), 1.0, Double.NaN), "NaN is above")
    assert(bounds(compare(CompareOp.NotEq, 2), 2.0, 2.0, null), "reached bounds are tight")
    assert(bounds(IsNull(x), 1.0, Double.NaN) && !bounds(IsNull(x), 1.0, null))
    assert(bounds(NotNull(x), null, null) && bounds(IsNaN(x), 1.0, null) && !bounds(NotNull(x), null, Double.NaN))
    val long = "x" * 100
    assert(
      excludes(Compare(message, CompareOp.Gt, text(long)), FactKind.Bounds, StringType, "a", long),
      "not cut short")
    assert(!excludes(parts("zzz"), FactKind.Bounds, StringType, "a"))
  }

  test("ranges: no value between late rows and the others (S91)") {
    val n = ColumnRef(1, LongType, "n")
    def both(low: Long, high: Long) =
      And(Seq(Compare(n, CompareOp.GtEq, ZoneValues.ofLong(low)), Compare(n, CompareOp.Lt, ZoneValues.ofLong(high))))
    val data = (0L until 3000L).map(i => 100000L + i) ++ Seq[Any](7L, 9000000L, null)
    def ranges(p: Predicate) = excludes(p, FactKind.Ranges, LongType, data: _*)
    assert(ranges(both(8, 100000)) && ranges(both(103000, 9000000)) && ranges(both(9000001, 9000002)))
    assert(!ranges(both(7, 8)) && !ranges(both(102999, 103000)) && !ranges(both(8, 100001)) && !ranges(IsNull(n)))
    assert(!excludes(both(8, 100000), FactKind.Bounds, LongType, data: _*))
    assert(ranges(InRanges(n, ValueRanges.between(ZoneValues.ofLong(8), ZoneValues.ofLong(99999)))) && ranges(IsNaN(n)))
  }

  test("the keys of a map are columns of their own, of which bounds never tell (S87)") {
    val (a, b) = (ZoneValues.ofString("a"), ZoneValues.ofString("b"))
    def at(key: ZoneValue) = ColumnRef(1, LongType, "m", Some(key))
    def is(key: ZoneValue, value: Long) = InRanges(at(key), ValueRanges.point(ZoneValues.ofLong(value)))
    val both = Predicate.and(is(a, 1), is(b, 2))
    assert(both == And(Seq(is(a, 1), is(b, 2))), "ranges of two keys are not joined")
    assert(Predicate.and(NotNull(at(a)), is(b, 2)) == And(Seq(NotNull(at(a)), is(b, 2))))
    assert(Predicate.canonical(is(a, 1)) != Predicate.canonical(is(b, 1)))
    assert(Predicate.canonical(is(a, 1)) != Predicate.canonical(is(a, 1).copy(column = ColumnRef(1, LongType, "m"))))
    val known = Set((ColumnId(1, Some(a)), FactKind.Values: FactKind))
    val one = factOf(FactKind.Values, LongType, Seq(1L, null))
    def asked(p: Predicate) =
      FactEvaluator
        .of(p, known)
        .map(_.excludes((id, _) => one.filter(_ => id == ColumnId(1, Some(a))), _ => Match.Some))
    assert(asked(is(b, 7)).isEmpty && asked(is(a, 7)).contains(true) && asked(is(a, 1)).contains(false))
    assert(asked(Or(Seq(is(a, 7), is(b, 7)))).contains(false) && asked(And(Seq(is(a, 7), is(b, 7)))).contains(true))
    val zone =
      ColumnZone(LongType, ColumnBounds(ZoneValues.ofLong(5), ZoneValues.ofLong(6), true, Presence.None, Presence.None))
    assert(ZoneMatch.evaluate(is(a, 1), _ => Some(zone)) == Match.Some)
    assert(ZoneMatch.evaluate(CompareColumns(at(a), CompareOp.Lt, at(b)), _ => Some(zone)) == Match.Some)
    val segment = TestModel.segment(Seq(ColumnSpec(1, LongType)), Seq(Array(zone.bounds)))
    assert(SegmentEvaluator.mayMatch(segment, is(a, 1), Bitmap.full(1))(0))
    assert(!SegmentEvaluator.mayMatch(segment, is(a, 1).copy(column = ColumnRef(1, LongType, "m")), Bitmap.full(1))(0))
  }

  test("leaves of one column are asked of its values once, together") {
    val n = ColumnRef(1, LongType, "n")
    val leaves = Seq(CompareOp.Gt, CompareOp.Lt).map(op => Compare(n, op, ZoneValues.ofLong(5)): Predicate)
    var finds = 0
    val fact = factOf(FactKind.Values, LongType, Seq(4L, 6L))
    val facts: FactLookup = (_, _) => {
      finds += 1
      fact
    }
    val known = Set((ColumnId(1), FactKind.Values: FactKind))
    assert(FactEvaluator.of(And(leaves), known).exists(_.excludes(facts, _ => Match.Some)))
    assert(finds == 1)
  }

  private def evaluated(columns: ColumnRef*)(holds: Seq[ZoneValue] => Boolean): Evaluated =
    Evaluated(
      columns,
      new RowCondition("test", "test") {
        override protected def evaluate(values: Seq[ZoneValue]): Boolean = holds(values)
      })

  test("conditions that have to be evaluated: once for each value of a set (S64)") {
    val n = ColumnRef(1, LongType, "n")
    val big = evaluated(n) {
      case Seq(LongValue(v)) => v > 100
      case _                 => false
    }
    val isNull = evaluated(n)(_.head == null)
    def values(p: Predicate, t: ColumnType, data: Any*) = excludes(p, FactKind.Values, t, data: _*)
    assert(values(big, LongType, 1L, 50L, null) && !values(big, LongType, 1L, 101L))
    assert(values(big, IntType, 1L, 50L), "stored before the column was promoted")
    assert(!values(big, StringType, "a"), "of another order")
    assert(values(isNull, LongType, 1L, 50L) && !values(isNull, LongType, 1L, null))
    assert(!excludes(big, FactKind.Bounds, LongType, 1L, 50L), "not all that there is")
    val x = ColumnRef(1, DoubleType, "x")
    assert(values(evaluated(x)(_ => false), DoubleType, 1.5, 2.5))
    assert(!values(evaluated(x)(_ => false), DoubleType, 1.5, 0.0), "one zero or the other")
    assert(!values(evaluated(x)(_ => false), DoubleType, 1.5, Double.NaN))
    assert(values(Or(Seq(big, Compare(n, CompareOp.Eq, ZoneValues.ofLong(7)))), LongType, 1L, 50L))
    assert(!values(Or(Seq(big, Compare(n, CompareOp.Eq, ZoneValues.ofLong(50)))), LongType, 1L, 50L))
  }

  test("conditions on a single value of one column and a set of another (S64)") {
    val (a, b) = (ColumnRef(1, LongType, "a"), ColumnRef(2, LongType, "b"))
    val sum60 = evaluated(a, b) {
      case Seq(LongValue(x), LongValue(y)) => x + y == 60
      case _                               => false
    }
    def asked(single: Option[Long], set: Long*) = {
      val facts = new FactLookup {
        override def find(column: ColumnId, kind: FactKind): Option[Fact] =
          factOf(kind, LongType, set).filter(_ => column == ColumnId(2))
        override def held(column: ColumnRef): Option[Seq[ZoneValue]] =
          single.filter(_ => column == a).map(v => Seq(LongValue(v), null))
      }
      FactEvaluator.of(sum60, Set((ColumnId(2), FactKind.Values))).exists(_.excludes(facts, _ => Match.Some))
    }
    assert(asked(Some(10), 1, 51) && !asked(Some(10), 1, 50) && !asked(None, 1, 51))
    assert(!asked(Some(10), (1000L to 1600L): _*), "too many combinations")
  }

  test("conditions on the spans of all their columns, not of some (S194)") {
    val (a, b) = (ColumnRef(1, LongType, "a"), ColumnRef(2, LongType, "b"))
    val never = Evaluated(
      Seq(a, b),
      new RowCondition("never", "never") {
        override val isBounded: Boolean = true
        override protected def evaluate(values: Seq[ZoneValue]): Boolean = true
        override protected def evaluateWithin(found: Seq[ColumnSpan]): Boolean = false
      }
    )
    def asked(known: ColumnRef*) = {
      val facts = new FactLookup {
        override def find(column: ColumnId, kind: FactKind): Option[Fact] = None
        override def span(column: ColumnRef): Option[ColumnSpan] =
          Option.when(known.contains(column))(ColumnSpan.of(LongValue(1)))
      }
      FactEvaluator.of(never, Set.empty).exists(_.excludes(facts, _ => Match.Some))
    }
    assert(asked(a, b) && !asked(a) && !asked(b))
  }

  test("bounds of zones tell nothing of conditions that have to be evaluated, nor is one taken for another") {
    val n = ColumnRef(1, LongType, "n")
    val point = ColumnBounds(ZoneValues.ofLong(5), ZoneValues.ofLong(5), tight = true, Presence.None, Presence.None)
    val none = evaluated(n)(_ => false)
    assert(ZoneMatch.evaluate(none, _ => Some(ColumnZone(LongType, point))) == Match.Some)
    def other(digest: String, column: ColumnRef = n): Predicate = Evaluated(
      Seq(column),
      new RowCondition(digest, "the same text") {
        override protected def evaluate(values: Seq[ZoneValue]): Boolean = true
      })
    assert(Predicate.and(other("x"), other("x")) == other("x") && Predicate.and(other("x"), other("y")) != other("x"))
    val texts = Seq(other("x"), other("y"), other("x", n.copy(fieldId = 2))).map(Predicate.canonical)
    assert(texts.distinct.size == 3 && Predicate.canonical(other("x")) == texts.head)
    assert(Predicate.fieldIds(other("x", n.copy(fieldId = 2))) == Set(2))
  }

  test("a block bloom over no value says no") {
    val none = FactBuilder.of(FactKind.Bloom, 0, 1).build()
    assert(!new BlockBloom(ByteBuffer.wrap(none)).mayHold(FactHashes.ofValue(text("x"))))
  }
}
