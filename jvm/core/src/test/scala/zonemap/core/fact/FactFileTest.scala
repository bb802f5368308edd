// SPDX-License-Identifier: Apache-2.0
package zonemap.core.fact

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.{Seeded, TestModel}
import zonemap.core.column.ColumnChoice
import zonemap.core.io.{ByteSource, CorruptIndexException}
import zonemap.core.predicate.ColumnId
import zonemap.core.value.{ColumnType, LongType, LongValue, StringType, ZoneValue, ZoneValues}
import zonemap.core.version.{FactRef, VersionFile}

/** Facts in their stored form. */
class FactFileTest extends AnyFunSuite with Seeded {

  private def builtOf(kind: FactKind, cells: Seq[Option[ZoneValue]], maxValues: Int = 100): Array[Byte] = {
    val builder = FactBuilder.of(kind, cells.size.toLong, maxValues)
    cells.foreach(_.fold(builder.addNull())(builder.add))
    builder.build()
  }

  private def file(kind: FactKind, t: ColumnType, facts: Seq[(FactKey, Array[Byte])]): Array[Byte] =
    FactFile.encode(kind, ColumnId(7), t, facts)

  private def open(bytes: Array[Byte]): FactFile = FactFile.open(ByteSource.ofBytes(bytes))

  test("sets of values come back, file by file") {
    rounds(50) { rng =>
      val t = rng.pick(TestModel.types)
      val sets = (0 until rng.int(20)).map { i =>
        FactKey.of(s"s3://t/data/$i", i.toLong) ->
          Seq.fill(rng.int(30))(Option.when(!rng.chance(10))(TestModel.encode(t, TestModel.value(t, rng))))
      }
      val read =
        open(file(FactKind.Values, t, sets.map { case (key, cells) => key -> builtOf(FactKind.Values, cells) }))
      assert((read.kind, read.column, read.columnType) == ((FactKind.Values, ColumnId(7), t)))
      sets.foreach { case (key, cells) =>
        read.find(key) match {
          case Some(known: KnownValues) =>
            assert(known.values.iterator.toSet == cells.flatten.toSet && known.hasNulls == cells.contains(None))
          case other => fail(s"$other")
        }
      }
      assert(read.find(FactKey.of("s3://t/data/0", 99)).isEmpty)
    }
  }

  test("ranges: all values lie in them, their ends are values, and the widest gaps stay open") {
    def rangesOf(values: Seq[Long]) = {
      val bytes = builtOf(FactKind.Ranges, values.map(v => Some(ZoneValues.ofLong(v))))
      open(file(FactKind.Ranges, LongType, Seq(FactKey.of("f", 1) -> bytes))).find(FactKey.of("f", 1)) match {
        case Some(known: KnownRanges) =>
          known.ranges.map { case (LongValue(a), LongValue(b)) => (a, b); case _ => fail() }
        case other => fail(s"$other")
      }
    }
    rounds(200) { rng =>
      val places = Seq.fill(1 + rng.int(30))(rng.long())
      val values = Seq.fill(1 + rng.int(2000))(rng.pick(places) + rng.int(1000).toLong)
      val ranges = rangesOf(values)
      val there = values.toSet
      assert(ranges.size <= 16 && ranges.forall { case (a, b) => a <= b && there(a) && there(b) })
      assert(ranges.zip(ranges.drop(1)).forall { case ((_, b), (a, _)) => b < a })
      assert(values.forall(v => ranges.exists { case (a, b) => a <= v && v <= b }))
    }
    val late = Seq(5L, 70000L, Long.MaxValue, Long.MinValue)
    val hour = (0 until 5000).map(i => 1000000L + (i * 31) % 3600)
    val single = Seq(Long.MinValue, 5L, 70000L).map(v => (v, v))
    val expected = single ++ Seq((1000000L, 1003599L), (Long.MaxValue, Long.MaxValue))
    assert(rangesOf(hour.take(2500) ++ late ++ hour.drop(2500)) == expected)
    assert(rangesOf(Nil).isEmpty)
  }

  test("too many values, or too long ones, are not a fact, and the file is entered all the same") {
    val many = (0 to 100).map(i => Some(ZoneValues.ofLong(i.toLong)))
    val long = (0 until 3).map(i => Some(ZoneValues.ofString(i.toString * 30000)))
    val keys = Seq(FactKey.of("many", 1), FactKey.of("long", 1), FactKey.of("few", 1))
    val facts = keys.zip(Seq(many, long, many.tail).map(builtOf(FactKind.Values, _)))
    val read = open(file(FactKind.Values, LongType, facts))
    assert(keys.map(read.has) == Seq(true, true, true))
    assert(keys.map(read.find(_).isDefined) == Seq(false, false, true))
  }

  test("blooms hold all that was added, few others, and shrink to what was distinct") {
    rounds(5) { rng =>
      val values = Seq.fill(20000)(rng.long())
      val bytes = builtOf(FactKind.Bloom, values.map(v => Some(ZoneValues.ofLong(v))))
      val bloom = new BlockBloom(java.nio.ByteBuffer.wrap(bytes))
      def holds(v: Long) = bloom.mayHold(FactHashes.ofValue(ZoneValues.ofLong(v)))
      assert(values.forall(holds))
      assert(Seq.fill(20000)(rng.long()).count(holds) < 400)
      assert(bytes.length < 20000 * 1.5)
      val few = builtOf(FactKind.Bloom, Seq.tabulate(20000)(i => Some(ZoneValues.ofLong(i % 5L))))
      assert(few.length <= 1024, "five values of twenty thousand rows")
    }
  }

  test("any damage is found: of the head when the file is opened, of a fact when it is read") {
    rounds(100) { rng =>
      val kind = rng.pick(FactKind.values.filter(kind => kind != FactKind.Ranges && kind != FactKind.Keys))
      val keys = (0 until 5).map(i => FactKey.of(s"f$i", 1))
      val facts = keys.map { key =>
        key -> builtOf(kind, Seq.fill(10)(Some(TestModel.encode(StringType, s"text ${rng.int(100)}"))))
      }
      val good = file(kind, StringType, facts)
      def readAll(bytes: Array[Byte]) = {
        val read = open(bytes)
        keys.foreach(read.find)
        FactFile.join(Seq(read), keys.toSet).bytes.toSeq
      }
      assert(readAll(good) == good.toSeq)
      intercept[CorruptIndexException](readAll(Damage.of(good, rng)))
    }
  }

  test("versions name facts; without facts they are what they were") {
    val plain = VersionFile("u", 1, "list", 2, Nil, Nil, 3, 4)
    val facts = Seq(FactRef("facts/bloom/7/x.zmf", "00ff", 123, FactKind.Bloom, ColumnId(7), 10, 9))
    assert(VersionFile.decode(VersionFile.encode(plain)) == plain)
    assert(VersionFile.decode(VersionFile.encode(plain.copy(facts = facts))) == plain.copy(facts = facts))
    assert(VersionFile.encode(plain)(8) == 1 && VersionFile.encode(plain.copy(facts = facts))(8) == 2)
    assert(plain.copy(facts = facts).fileNames == Seq("facts/bloom/7/x.zmf"))
  }

  test("facts of keys and of bounds take the next format, others stay readable by older releases") {
    val plain = VersionFile("u", 1, "list", 2, Nil, Nil, 3, 4)
    def ref(kind: FactKind, column: ColumnId) = FactRef("facts/values/7/x.zmf", "00ff", 123, kind, column, 10, 9)
    val keys = Seq(None, Some(ZoneValues.ofString("type")), Some(ZoneValues.ofLong(-4)))
    val refs = ref(FactKind.Bounds, ColumnId(7)).copy(contradictsManifests = true) +: keys.map(key =>
      ref(FactKind.Bloom, ColumnId(8, key)))
    assert(VersionFile.decode(VersionFile.encode(plain.copy(facts = refs))) == plain.copy(facts = refs))
    assert(refs.map(r => VersionFile.encode(plain.copy(facts = Seq(r)))(8).toInt) == Seq(4, 2, 4, 4))
    val withColumns = plain.copy(facts = refs, columns = ColumnChoice.only(Seq(3, 1)))
    assert(VersionFile.decode(VersionFile.encode(withColumns)) == withColumns)
    val chosen = withColumns.copy(facts = refs.head.copy(mapping = Some("ab")) +: refs.map(_.copy(isChosen = true)))
    assert(VersionFile.decode(VersionFile.encode(chosen)) == chosen && VersionFile.encode(chosen)(8) == 6)
    keys.foreach { key =>
      val stored = Seq(FactKey.of("f", 1) -> builtOf(FactKind.Values, Seq(Some(ZoneValues.ofString("timer")))))
      val bytes = FactFile.encode(FactKind.Values, ColumnId(8, key), StringType, stored)
      assert(open(bytes).column == ColumnId(8, key) && bytes(8) == (if (key.isEmpty) 1 else 2))
      assert(open(bytes).find(FactKey.of("f", 1)).isDefined)
    }
  }

  test("bounds are the least and the greatest value in full, and presence; very long ones are none") {
    rounds(50) { rng =>
      val t = rng.pick(TestModel.types)
      val cells = Seq.fill(rng.int(20))(Option.when(!rng.chance(30))(TestModel.encode(t, TestModel.value(t, rng))))
      val read = open(file(FactKind.Bounds, t, Seq(FactKey.of("f", 1) -> builtOf(FactKind.Bounds, cells))))
      read.find(FactKey.of("f", 1)) match {
        case Some(KnownRanges(columnType, ranges, hasNulls, hasNaN)) =>
          val values = cells.flatten
          assert(columnType == t && ranges == values.minOption.zip(values.maxOption).toSeq)
          assert(hasNulls == cells.contains(None) && !hasNaN)
        case other => fail(s"$other")
      }
    }
    assert(builtOf(FactKind.Bounds, Seq(Some(ZoneValues.ofString("x" * 20000)))).isEmpty)
  }
}
