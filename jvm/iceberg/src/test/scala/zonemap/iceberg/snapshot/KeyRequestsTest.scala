// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.snapshot

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.eval.FactEvaluator
import zonemap.core.fact.{FactBuilder, FactFile, FactKey, FactKind}
import zonemap.core.io.ByteSource
import zonemap.core.predicate.{ColumnId, ColumnRef, In, SortedValues}
import zonemap.core.rule.Match
import zonemap.core.value.{LongType, ZoneValues}
import zonemap.core.version.FactRef
import zonemap.iceberg.store.IndexStore
import zonemap.iceberg.testing.{FileKind, MemoryFileIO, OwnProcess}

/** The requests to a remote store that look-ups of keys make. */
class KeyRequestsTest extends AnyFunSuite with OwnProcess {
  private val column = ColumnId(1)
  private val io = new MemoryFileIO
  private lazy val store = new IndexStore(io, "mem://lake/t/_zonemaps_v2/keys-test", process.access)

  private def path(file: Int) = s"data-$file"

  /** File f holds the keys from f * keys on; several parts are joined without holding them in memory. */
  private def written(files: Int, keys: Int): FactRef = {
    val parts = (0 until files).grouped((files / 3).max(1)).toSeq.map { group =>
      val facts = group.map { file =>
        val builder = FactBuilder.of(FactKind.Keys, keys.toLong, 1)
        (0 until keys).foreach(key => builder.add(ZoneValues.ofLong(file.toLong * keys + key)))
        FactKey.of(path(file), 9L) -> builder.build()
      }
      FactFile.open(ByteSource.ofBytes(FactFile.encode(FactKind.Keys, column, LongType, facts)))
    }
    val joined = FactFile.join(parts, (0 until files).map(file => FactKey.of(path(file), 9L)).toSet, mostRetained = 0)
    FactRef(
      store.writeFacts(FactKind.Keys, column.fieldId, joined),
      joined.contentHash,
      joined.sizeBytes,
      FactKind.Keys,
      column,
      joined.files,
      joined.facts)
  }

  /** The data files among `files` that are kept for some keys. */
  private def kept(facts: TableFacts, files: Seq[Int], keys: Long*): Seq[Int] = {
    val condition =
      In(ColumnRef(column.fieldId, LongType, "id"), SortedValues.of(keys.map(key => ZoneValues.ofLong(key))))
    val evaluator = FactEvaluator.of(condition, facts.known).get
    files.filterNot(file => evaluator.excludes(facts.of(path(file), 9L), _ => Match.Some))
  }

  private def requests(run: => Unit): Int = {
    io.resetCounts()
    run
    io.reads(FileKind.Store)
  }

  test("a look-up in a large file of keys takes two requests on a cold store, and one later") {
    val (files, keys) = (5000, 400)
    val ref = written(files, keys)
    assert(ref.sizeBytes > (4L << 20) && ref.files * 20 > (64 << 10), "neither file nor head is read by one small read")
    val facts = new TableFacts(1, Seq(ref), store)
    val some = Seq(0, 1, 2, 77, 4999)
    assert(requests(assert(kept(facts, some, 77L * keys + 5) == Seq(77))) == 2)
    assert(requests(assert(kept(facts, some, 2L * keys) == Seq(2))) == 1)
    assert(requests(assert(kept(facts, some, -5L) == Nil)) <= 1)
    val sought = (0L until 300L).map(_ * 6007)
    val expected = some.filter(file => sought.exists(_ / keys == file))
    assert(requests(assert(kept(facts, some, sought: _*) == expected)) <= sought.size)
  }

  test("a small file of keys is fetched by one request") {
    val facts = new TableFacts(1, Seq(written(12, 1000)), store)
    assert(requests(assert(kept(facts, 0 until 12, 5003L) == Seq(5))) == 1)
    assert(requests(assert(kept(facts, 0 until 12, 11999L, 0L) == Seq(0, 11))) == 0)
  }
}
