package zonemap.core.eval

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.predicate._
import zonemap.core.segment._
import zonemap.core.value._
import zonemap.core.{Seeded, TestModel, TestPredicates}

/** What is answered from memory is what the segment answers. */
class AnswerCacheTest extends AnyFunSuite with Seeded {
  private val rows = 5000
  private val types = Seq(LongType, StringType)
  private val specs = types.zipWithIndex.map { case (t, i) => ColumnSpec(i + 1, t) }
  private val id = ColumnRef(1, LongType, "id")

  /** Row k holds ids from 10k to 10k + 9, nothing is known of the other column. */
  private def ordered(rows: Int = rows): Array[Byte] = {
    val builder = new SegmentBuilder(specs)
    builder.beginManifest(TestModel.manifest(0))
    val partition = builder.partition(0, Array())
    (0 until rows).foreach { k =>
      val ids = ColumnBounds(LongValue(k * 10L), LongValue(k * 10L + 9), tight = true, Presence.None, Presence.None)
      builder.add(TestModel.file(k, partition), Array(ids, null))
    }
    builder.build()
  }

  private def idIs(value: Long): Predicate = Compare(id, CompareOp.Eq, LongValue(value))

  private def ask(cache: AnswerCache, segment: Segment, predicate: Predicate): Seq[Int] =
    cache.mayMatch(segment, predicate, Bitmap.full(segment.rows)).toArray.toSeq

  test("random predicates, candidates and order: as the segment answers")(rounds(2) { rng =>
    val cache = new AnswerCache(200 * 1000)
    val segments = Seq.fill(2) {
      TestModel.segment(specs, Seq.fill(rows)(types.map(TestModel.anyBounds(_, rng)).toArray))
    }
    val predicates = Seq.fill(30)(TestPredicates.tree(types, 2, rng).predicate)
    (0 until 400).foreach { _ =>
      val (segment, predicate) = (rng.pick(segments), rng.pick(predicates))
      val candidates =
        if (rng.chance(50)) Bitmap.full(rows) else Bitmap.of(rows, (0 until rows).filter(_ => rng.chance(40)): _*)
      val before = candidates.copy()
      val found = cache.mayMatch(segment, predicate, candidates)
      assert(found == SegmentEvaluator.mayMatch(segment, predicate, candidates), predicate)
      found.setRange(0, rows) // whoever asks may change it
      assert(candidates == before)
      assert(cache.residentBytes <= 200 * 1000)
    }
    assert(cache.answers > 50)
    ()
  })

  test("the third time is answered from memory, for another candidate too") {
    val (cache, segment) = (new AnswerCache(1 << 20), Segment.open(ordered()))
    assert(Seq.fill(4)(ask(cache, segment, idIs(12345))) == Seq.fill(4)(Seq(1234)))
    assert(cache.answers == 2)
    assert(cache.mayMatch(segment, idIs(12345), Bitmap.of(rows, 1, 2)).isEmpty && cache.answers == 3)
    assert(cache.residentBytes < 1000)
    cache.clear()
    assert(ask(cache, segment, idIs(12345)) == Seq(1234) && cache.answers == 3)
  }

  test("what is known is known once it is kept: of few files, of many, and of none") {
    val (cache, segment) = (new AnswerCache(1 << 20), Segment.open(ordered()))
    val many = Compare(id, CompareOp.Lt, LongValue(40000))
    // between the bounds of two files there is no id
    val none = And(Seq(Compare(id, CompareOp.Gt, LongValue(19)), Compare(id, CompareOp.Lt, LongValue(20))))
    Seq(idIs(12345) -> Match.Some, many -> Match.Some, none -> Match.None).foreach { case (predicate, answer) =>
      val known = Seq.fill(3)(cache.known(segment, predicate) -> ask(cache, segment, predicate)).map(_._1)
      assert(known == Seq(None, None, Some(answer)), predicate)
    }
    assert(cache.known(Segment.open(ordered()), many).isEmpty, "another segment")
  }

  test("a segment that was reopened has the same answers, one of other bytes its own") {
    val cache = new AnswerCache(1 << 20)
    val bytes = ordered()
    val (segment, other) = (Segment.open(bytes), Segment.open(ordered(rows + 1)))
    (0 until 2).foreach(_ => ask(cache, segment, idIs(50005)))
    assert(ask(cache, segment.reopened(ByteSource.ofBytes(bytes)), idIs(50005)).isEmpty && cache.answers == 1)
    assert(ask(cache, other, idIs(50005)) == Seq(5000) && cache.answers == 1)
  }

  test("small segments and long lists are asked each time") {
    val cache = new AnswerCache(1 << 20)
    val keys = In(id, SortedValues.of((0 until 1001).map(i => LongValue(i * 40L))))
    (0 until 4).foreach { _ =>
      ask(cache, Segment.open(ordered(100)), idIs(5))
      ask(cache, Segment.open(ordered()), Predicate.or(keys, idIs(5)))
      assert(cache.known(Segment.open(ordered()), keys).isEmpty)
    }
    assert(cache.answers == 0 && cache.residentBytes == 0)
  }

  test("those used least recently go") {
    val (cache, segment) = (new AnswerCache(5000), Segment.open(ordered()))
    def twice(value: Long): Unit = (0 until 2).foreach(_ => ask(cache, segment, idIs(value)))
    twice(0)
    (1 to 8).foreach { k =>
      twice(k * 100L)
      ask(cache, segment, idIs(0))
    }
    val before = cache.answers
    ask(cache, segment, idIs(0))
    assert(cache.answers == before + 1)
    (1 to 100).foreach(k => twice(k * 100L))
    val after = cache.answers
    ask(cache, segment, idIs(0))
    assert(cache.answers == after)
  }
}
