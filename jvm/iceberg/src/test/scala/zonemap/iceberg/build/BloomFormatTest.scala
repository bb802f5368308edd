// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.build

import org.apache.parquet.column.values.bloomfilter.BlockSplitBloomFilter
import org.apache.parquet.io.api.Binary
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.{Rng, Seeded}
import zonemap.core.fact.{BlockBloom, FactHashes}
import zonemap.core.value.ZoneValues

/** The Bloom filter has the same hashes and bits as Parquet's own filter. */
class BloomFormatTest extends AnyFunSuite with Seeded {

  private def text(rng: Rng): String = new String(rng.bytes(rng.int(100)), "ISO-8859-1")

  test("Parquet finds what we added, with its own hashes") {
    rounds(20) { rng =>
      val longs = Seq.fill(300)(rng.long())
      val texts = Seq.fill(300)(text(rng))
      val builder = new BlockBloom.Builder(600)
      longs.foreach(v => builder.add(FactHashes.ofValue(ZoneValues.ofLong(v))))
      texts.foreach(v => builder.add(FactHashes.ofValue(ZoneValues.ofString(v))))
      val theirs = new BlockSplitBloomFilter(builder.build())
      assert(longs.forall(v => theirs.findHash(theirs.hash(v))))
      assert(texts.forall(v => theirs.findHash(theirs.hash(Binary.fromString(v)))))
      assert(Seq.fill(1000)(rng.long()).count(v => theirs.findHash(theirs.hash(v))) < 60)
    }
  }
}
