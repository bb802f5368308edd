// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.snapshot

import java.io.{IOException, UncheckedIOException}

import org.apache.iceberg.{Schema, TableProperties}
import org.apache.iceberg.types.Types
import org.apache.iceberg.types.Types.NestedField
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.eval.FactEvaluator
import zonemap.core.fact.{FactBuilder, FactFile, FactKey, FactKind, KnownValues}
import zonemap.core.predicate.{ColumnId, ColumnRef, Compare, CompareOp}
import zonemap.core.rule.Match
import zonemap.core.value.{LongType, ZoneValues}
import zonemap.core.version.FactRef
import zonemap.iceberg.store.IndexStore
import zonemap.iceberg.testing.{MemoryFileIO, OwnProcess, TestTable}

/** Files of facts that cannot be read, and damaged ones. */
class TableFactsTest extends AnyFunSuite with OwnProcess {
  private val column = ColumnId(1)
  private val root = "mem://lake/t/_zonemaps_v2/facts-test"

  private final class Stored(kind: FactKind = FactKind.Values) {
    val io = new MemoryFileIO
    private val store = new IndexStore(io, root, process.access)
    private val file = {
      val builder = FactBuilder.of(kind, 1L, 100)
      builder.add(ZoneValues.ofLong(5))
      FactFile.encoded(kind, column, LongType, Seq(FactKey.of("data", 9L) -> builder.build()))
    }
    private val path = store.writeFacts(kind, column.fieldId, file)
    private val ref = FactRef(path, file.contentHash, file.sizeBytes, kind, column, 1, 1)
    val location = s"$root/$path"

    def facts(pauseNanos: Long, contradicts: Boolean = false, named: ColumnId = column): TableFacts =
      new TableFacts(1, Seq(ref.copy(contradictsManifests = contradicts, column = named)), store, pauseNanos)

    /** Reads fail while this is true. */
    @volatile var isDown = false
    @volatile var reads = 0
    io.beforeRead = { _ =>
      reads += 1
      if (isDown) throw new UncheckedIOException(new IOException("connection reset"))
    }
  }

  private def isKnown(facts: TableFacts, of: ColumnId = column): Boolean =
    facts.of("data", 9L).find(of, FactKind.Values) match {
      case Some(_: KnownValues) => true
      case _                    => false
    }

  test("a file that could not be read is read again after the pause, and not before") {
    val stored = new Stored
    stored.isDown = true
    val (patient, eager) = (stored.facts(pauseNanos = Long.MaxValue / 2), stored.facts(pauseNanos = 0L))
    assert(!isKnown(patient) && !isKnown(eager))
    stored.isDown = false
    val before = stored.reads
    assert(!isKnown(patient) && stored.reads == before)
    assert(isKnown(eager))
    assert(eager.files(column, FactKind.Values).size == 1 && patient.files(column, FactKind.Values).isEmpty)
  }

  test("a read that fails after the file was opened is tried again too") {
    val stored = new Stored
    val facts = stored.facts(pauseNanos = 0L)
    assert(isKnown(facts))
    facts.release()
    stored.isDown = true
    process.access.cold.forget(root)
    assert(!isKnown(facts))
    stored.isDown = false
    assert(isKnown(facts))
  }

  test("a damaged file is refused for good, whatever its bytes are later") {
    for (damage <- Seq[Array[Byte] => Array[Byte]](_.dropRight(1), bytes => bytes.updated(20, (~bytes(20)).toByte))) {
      val stored = new Stored
      val whole = stored.io.bytes(stored.location)
      stored.io.put(stored.location, damage(whole))
      process.access.cold.forget(root)
      val facts = stored.facts(pauseNanos = 0L)
      assert(!isKnown(facts))
      stored.io.put(stored.location, whole)
      process.access.cold.forget(root)
      assert(!isKnown(facts))
      assert(isKnown(stored.facts(pauseNanos = 0L)))
    }
  }

  test("keys that cannot be read prove nothing, and a damaged file of keys is refused for good (S147)") {
    val six = Compare(ColumnRef(column.fieldId, LongType, "id"), CompareOp.Eq, ZoneValues.ofLong(6))
    def prunes(facts: TableFacts) =
      FactEvaluator.of(six, facts.known).exists(_.excludes(facts.of("data", 9L), _ => Match.Some))
    val stored = new Stored(FactKind.Keys)
    val whole = stored.io.bytes(stored.location)
    assert(prunes(stored.facts(pauseNanos = 0L)))
    stored.io.put(stored.location, whole.updated(whole.length - 1, (~whole.last).toByte))
    process.access.cold.forget(root)
    val facts = stored.facts(pauseNanos = 0L)
    assert(facts.of("data", 9L).find(column, FactKind.Keys).isDefined, "the head is whole")
    assert(!prunes(facts))
    stored.io.put(stored.location, whole)
    process.access.cold.forget(root)
    assert(!prunes(facts) && facts.of("data", 9L).find(column, FactKind.Keys).isEmpty)
    assert(prunes(stored.facts(pauseNanos = 0L)))
  }

  test("a whole file that holds the facts of another column than the version names is refused") {
    val other = ColumnId(2)
    assert(!isKnown(new Stored().facts(pauseNanos = 0L, named = other), other))
  }

  test("a column that a manifest is wrong about stays so when the name mapping makes the facts unreadable") {
    val stored = new Stored
    val t = TestTable.create(new Schema(NestedField.optional(1, "id", Types.LongType.get())))
    process.tables.of(t.load()).learn(stored.facts(pauseNanos = 0L, contradicts = true))
    assert(isKnown(process.index.factsOf(t.load())) && process.index.factsOf(t.load()).distrusted == Set(1))
    val mapping = """[{"field-id": 1, "names": ["id", "other"]}]"""
    t.load().updateProperties().set(TableProperties.DEFAULT_NAME_MAPPING, mapping).commit()
    assert(!isKnown(process.index.factsOf(t.load())) && process.index.factsOf(t.load()).distrusted == Set(1))
  }
}
