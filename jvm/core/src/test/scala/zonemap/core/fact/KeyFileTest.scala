// SPDX-License-Identifier: Apache-2.0
package zonemap.core.fact

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.{Rng, Seeded}
import zonemap.core.io.{ByteSource, CorruptIndexException}
import zonemap.core.predicate.ColumnId
import zonemap.core.value.{LongType, LongValue, ZoneValue, ZoneValues}

/** The keys of many data files in one fact file. */
class KeyFileTest extends AnyFunSuite with Seeded {
  private type DataFile = (FactKey, Option[Seq[Long]])

  private def key(name: Any): FactKey = FactKey.of(s"s3://t/data/$name", 7)

  private def built(values: Seq[Long]): Array[Byte] = {
    val builder = FactBuilder.of(FactKind.Keys, values.size.toLong, 100)
    values.foreach(v => builder.add(ZoneValues.ofLong(v)))
    builder.addNull()
    builder.build()
  }

  /** The bytes of a fact file of data files with these values; None for one without a fact. */
  private def encoded(files: Seq[DataFile]): Array[Byte] = {
    val facts = files.map { case (key, values) => key -> values.fold(FactBuilder.NoFact)(built) }
    FactFile.encode(FactKind.Keys, ColumnId(7), LongType, facts)
  }

  private def open(bytes: Array[Byte]): FactFile = FactFile.open(ByteSource.ofBytes(bytes))

  private def hashes(values: Seq[Long]): Array[Long] = values.map(v => FactHashes.ofValue(LongValue(v))).toArray

  /** After one look-up: whether a data file may hold one of the values. */
  private def mayHold(file: FactFile, values: Seq[Long]): FactKey => Option[Boolean] = {
    val holding = file.keyIndex.get.holding(hashes(values)).get
    file.find(_).map {
      case keys: KeysOfFile => holding.get(keys.ordinal)
      case other            => fail(s"$other")
    }
  }

  private def mayHold(file: FactFile, of: FactKey, values: Seq[Long]): Option[Boolean] = mayHold(file, values)(of)

  /** Returns how many data files are kept for a value that none of them holds, which is rare. */
  private def check(file: FactFile, files: Seq[DataFile], rng: Rng): Int = {
    val all = files.flatMap(_._2).flatten
    files.foreach { case (key, values) =>
      assert(
        file.has(key) && file.find(key).isDefined == values.isDefined && (file.bytesOf(key) > 0) == values.isDefined)
    }
    val mistakes = (0 until 20).map { _ =>
      val sought = Seq.fill(rng.int(4))(if (all.nonEmpty && rng.chance(80)) rng.pick(all) else rng.long())
      val holds = mayHold(file, sought)
      files.count { case (key, values) =>
        val expected = values.map(_.exists(sought.contains))
        if (!expected.contains(false)) assert(holds(key) == expected, s"$sought in $values")
        holds(key) != expected
      }
    }
    assert(file.find(key("another")).isEmpty)
    mistakes.sum
  }

  private val FewMistakes = 3

  private def randomFiles(rng: Rng, most: Int = 12, sizes: Seq[Int] = Seq(0, 1, 30, 3000)): Seq[DataFile] = {
    val few = Seq.fill(1 + rng.int(5))(rng.long())
    (0 until rng.int(most)).map { i =>
      val values = Seq.fill(rng.pick(sizes))(if (rng.chance(30)) rng.pick(few) else rng.long())
      key(i) -> Option.when(!rng.chance(10))(values)
    }
  }

  test("each file that holds a key is found, and others are not") {
    var mistakes = 0
    rounds(60) { rng =>
      val files = randomFiles(rng)
      mistakes += check(open(encoded(files)), files, rng)
    }
    assert(mistakes <= FewMistakes)
  }

  test("a key in every file, in more files than a block has pairs") {
    val files = (0 until 10000).map(i => key(i) -> Option(Seq(1L, 2L, 100L + i)))
    val file = open(encoded(files))
    def holders(value: Long) = {
      val holds = mayHold(file, Seq(value))
      files.map(_._1).filter(holds(_).contains(true))
    }
    Seq(1L, 2L).foreach(everywhere => assert(holders(everywhere) == files.map(_._1)))
    assert(holders(777) == Seq(key(677)))
  }

  test("joined files are the file of all live data files") {
    var mistakes = 0
    rounds(60) { rng =>
      // of one width, and sometimes more than a block
      val files = randomFiles(rng, 160, Seq(0, 1, 160, 160))
      val parts = Seq.fill(1 + rng.int(4))(files.filter(_ => rng.chance(60)))
      val live = files.map(_._1).filter(_ => rng.chance(80)).toSet
      // what is not retained is read and written a second time
      val joined = FactFile.join(parts.map(p => open(encoded(p))), live, rng.pick(Seq(0L, 20000L, Long.MaxValue)))
      val there = files.filter { case (k, _) => live(k) && parts.exists(_.exists(_._1 == k)) }
      assert(joined.bytes.sameElements(encoded(there)))
      assert(joined.files == there.size && joined.facts == there.count(_._2.isDefined))
      mistakes += check(open(joined.bytes), there, rng)
    }
    assert(mistakes <= FewMistakes)
    val widths = Seq(Seq(1L), Seq.tabulate(3000)(_.toLong)).map(values => open(encoded(Seq(key(1) -> Some(values)))))
    assert(widths.map(_.hashBits) == Seq(24, 32))
    intercept[IllegalArgumentException](FactFile.join(widths, Set(key(1))))
  }

  test("the content hash is of the head, and so of all keys (S151)") {
    def joined(value: Long) = FactFile.join(Seq(open(encoded(Seq(key(1) -> Some(Seq(value)))))), Set(key(1)))
    val (five, six) = (joined(5), joined(6))
    assert(five.contentHash != six.contentHash)
    assert(five.sizeBytes == five.bytes.length && five.bytes.sameElements(five.bytes))
  }

  test("pairs that differ from those of the head are not written (S151)") {
    def pairs(hashes: Long*) = java.util.Arrays.stream(hashes.map(KeyPair.of(_, 0)).toArray).iterator()
    var calls = Iterator(pairs(1, 2), pairs(1, 2), pairs(1, 2), pairs(1, 3))
    def keys = new KeysToWrite(Seq(key(1)), Array(true), KeyPair.HashBits, 0, () => calls.next())
    keys.writeBody(_ => ())
    intercept[CorruptIndexException](keys.writeBody(_ => ()))
    calls = Iterator(pairs(1, 2))
    val retained = new KeysToWrite(Seq(key(1)), Array(true), KeyPair.HashBits, 1000, () => calls.next())
    var written = 0L
    retained.writeBody(written += _.length)
    assert(written == retained.bodyBytes && written > 0 && calls.isEmpty)
  }

  test("of a data file that was read twice, joined files have the fact") {
    val without = open(encoded(Seq(key(1) -> None)))
    val withFact = open(encoded(Seq(key(1) -> Some(Seq(5L)), key(2) -> Some(Seq(6L)))))
    Seq(Seq(without, withFact), Seq(withFact, without)).foreach { parts =>
      val joined = open(FactFile.join(parts, Set(key(1))).bytes)
      assert(mayHold(joined, key(1), Seq(5L)).contains(true) && mayHold(joined, key(1), Seq(6L)).contains(false))
      assert(!joined.has(key(2)))
    }
  }

  test("any damage is found: of the head when the file is opened, of a block when it is read") {
    rounds(200) { rng =>
      val files = (0 until 3).map(i => key(i) -> Option(Seq.fill(800)(rng.long())))
      val good = encoded(files)
      val all = files.flatMap(_._2.get)
      intercept[CorruptIndexException](mayHold(open(Damage.of(good, rng)), key(0), all))
    }
  }

  test("a key costs at most 24 bits, and an absent one finds at most one of 100,000 files") {
    // the second with the most keys of its width
    for ((files, keys) <- Seq((40, 50000), (400, 2680))) rounds(1) { rng =>
      val bytes = encoded((0 until files).map(i => key(i) -> Some(Seq.fill(keys)(rng.long()))))
      assert(bytes.length * 8.0 / (files * keys) < 24)
      val file = open(bytes)
      val absent = 20000
      val found = file.find(key(0)) match {
        case Some(k: KeysOfFile) =>
          (0 until absent).map(_ => k.index.holding(hashes(Seq(rng.long()))).get.cardinality).sum
        case other => fail(s"$other")
      }
      // expected: 0.6 of 800,000, and 80 of 8,000,000 with a deviation of 9
      assert(found <= absent * files * 1.7e-5, s"$keys keys a file")
    }
  }

  test("few keys a file need few bits") {
    val files = Seq(1 -> 24, 167 -> 24, 168 -> 28, 2684 -> 28, 2685 -> 32, 42949 -> 32, 42950 -> 36, 9000000 -> 36)
    files.foreach { case (keys, bits) => assert(KeyPair.bitsFor(keys) == bits, keys) }
    assert(KeyPair.bitsFor(0) == 24)
  }

  test("equal values are one key, whatever their number") {
    assert(built(Seq.fill(5000)(3L)).length == built(Seq(3L)).length)
    val mixed = Seq.tabulate(50000)(i => (i % 1500).toLong)
    assert(built(mixed).sameElements(built(mixed.distinct)))
  }

  test("one look-up reads one block, and several read each block once") {
    val bytes = encoded((0 until 20).map(i => key(i) -> Option(Seq.tabulate(1000)(v => i * 1000L + v))))
    var reads = Vector.empty[Int]
    var ahead = 0
    val counted = new ByteSource {
      private val inner = ByteSource.ofBytes(bytes)
      override def sizeBytes: Long = inner.sizeBytes
      override def read(offset: Long, length: Int) = { reads :+= length; inner.read(offset, length) }
      override def prefetch(ranges: Seq[zonemap.core.io.ByteRange]): Unit = ahead += ranges.size
      override def close(): Unit = ()
    }
    val opened = FactFile.open(counted, FactFile.keysHeadBytes(20, bytes.length.toLong))
    assert(reads.size == 1 && reads.head < 2000)
    reads = Vector.empty
    assert(FactFile.open(counted).has(key(0)) && reads.size == 2, "a first read that is too short")
    val index = opened.find(key(0)) match {
      case Some(keys: KeysOfFile) => keys.index
      case other                  => fail(s"$other")
    }
    reads = Vector.empty
    assert(index.holding(hashes(Seq(4321L))).get.get(0) || reads.size == 1)
    assert(reads.size == 1 && reads.head < 40000 && ahead == 0)
    reads = Vector.empty
    val all = index.holding(hashes(0L until 20000L)).get
    assert(all.cardinality == 20 && reads.size == ahead && reads.size == 3)
  }

  test("keys of a map") {
    val column = ColumnId(8, Some(ZoneValues.ofString("type")))
    val bytes = FactFile.encode(FactKind.Keys, column, LongType, Seq(key(1) -> built(Seq(5L))))
    val read = open(bytes)
    assert(read.column == column && bytes(8) == 4 && mayHold(read, key(1), Seq(5L)).contains(true))
    val zero: ZoneValue = ZoneValues.ofDouble(-0.0)
    assert(FactHashes.ofValue(zero) == FactHashes.ofValue(ZoneValues.ofDouble(0.0)))
  }
}
