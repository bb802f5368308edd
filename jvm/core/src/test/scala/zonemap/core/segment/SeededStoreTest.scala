// SPDX-License-Identifier: Apache-2.0
package zonemap.core.segment

import java.security.MessageDigest
import java.util.{HexFormat, SplittableRandom}

import scala.util.Using

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.container.{Container, ContainerReader, SectionKind}
import zonemap.core.{Rng, TestModel}
import zonemap.core.fact.{FactFile, FactHashes, FactKind}
import zonemap.core.io.ByteSource
import zonemap.core.value.LongType
import zonemap.core.version.VersionFile

/**
 * The stored bytes never change: the current code writes the committed files of [[SeededStore]] identically, and reads
 * them. A file in a form that is no longer written is read only.
 */
class SeededStoreTest extends AnyFunSuite {

  private def kept(name: String): Array[Byte] =
    Using.resource(getClass.getResourceAsStream(s"/seeded-store/$name"))(_.readAllBytes())

  private def sha256(bytes: Array[Byte]): String =
    HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes))

  SeededStore.files.foreach { case (name, written) =>
    test(s"$name is written as it was") {
      assert(sha256(written) == sha256(kept(name)))
    }
  }

  test("the kept segments hold every way of storing a column, and all of their rows can be read") {
    val kinds = Seq("data.zm", "merged.zm").flatMap { name =>
      val segment = Segment.open(kept(name))
      val paths = segment.newPathReader()
      (0 until segment.rows).foreach { row =>
        assert(paths.path(row).endsWith(".parquet"))
        segment.columnIds.foreach(id => segment.column(id).get.bounds(row))
      }
      val container = ContainerReader.open(ByteSource.ofBytes(kept(name)), Container.KindData)
      container.keys.map(_.kind)
    }.toSet
    val expected = Set[SectionKind](
      SectionKind.ColumnCodes,
      SectionKind.PackedColumnCodes,
      SectionKind.ColumnFlags,
      SectionKind.ExactIndex,
      SectionKind.ExactData,
      SectionKind.PackedExactBounds,
      SectionKind.Provenances
    )
    assert((expected -- kinds).isEmpty)
    assert(StoredColumn.isCoarse(kept("data.zm"), 2))
  }

  test("the kept delete segment, facts and versions are read") {
    assert(DeleteSegment.open(kept("deletes.zmd")).rows == 50)
    (SeededStore.files.map(_._1).filter(_.endsWith(".zmf")) ++ SeededStore.before).foreach { name =>
      val file = FactFile.open(ByteSource.ofBytes(kept(name)))
      assert(file.keysIterator.flatMap(key => file.find(key)).nonEmpty, name)
    }
    (1 to 6).foreach(i => assert(VersionFile.decode(kept(s"version-$i")).tableUuid == "uuid"))
  }

  test("keys in the form before are found as those of today") {
    val (today, before) = (open("keys.zmf"), open("keys-36.zmf"))
    assert(today.hashBits == 24 && before.hashBits == 36)
    assert(today.keysIterator.toSeq == before.keysIterator.toSeq)
    val rng = new Rng(new SplittableRandom(30L + FactKind.Keys.code))
    val found = (0 until 500).count { _ =>
      val hash = FactHashes.ofValue(TestModel.encode(LongType, TestModel.value(LongType, rng)))
      val holders = Seq(today, before).map(_.keyIndex.get.holding(Array(hash)).get)
      assert(holders.distinct.size == 1)
      !holders.head.isEmpty
    }
    assert(found > 50)
  }

  private def open(name: String): FactFile = FactFile.open(ByteSource.ofBytes(kept(name)))
}
