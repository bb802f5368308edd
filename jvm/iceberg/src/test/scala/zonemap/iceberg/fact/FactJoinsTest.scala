// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.fact

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.fact.FactKind

/** Which files of facts a build joins. */
class FactJoinsTest extends AnyFunSuite {
  private val MB = 1L << 20

  private def sizes(kind: FactKind, files: Long*): Seq[Seq[Long]] =
    FactJoins.groups(kind, files)(identity).map(_.sorted).sortBy(group => (group.sum, group.size))

  test("small files are joined, larger ones are left alone") {
    assert(sizes(FactKind.Bloom, 1, 5 * MB, 2, 6 * MB) == Seq(Seq(1, 2), Seq(5 * MB), Seq(6 * MB)))
    assert(sizes(FactKind.Bloom, 3 * MB, 3 * MB, 3 * MB) == Seq(Seq(3 * MB), Seq(3 * MB, 3 * MB)))
    assert(sizes(FactKind.Bloom).isEmpty)
  }

  test("files of keys are joined with those of similar size, up to a limit") {
    assert(sizes(FactKind.Keys, 1, 3 * MB) == Seq(Seq(1, 3 * MB)))
    assert(sizes(FactKind.Keys, 1, 5 * MB) == Seq(Seq(1), Seq(5 * MB)))
    assert(sizes(FactKind.Keys, 5 * MB, 20 * MB, 10 * MB) == Seq(Seq(5 * MB, 10 * MB, 20 * MB)))
    assert(sizes(FactKind.Keys, 100 * MB, 60 * MB, 60 * MB) == Seq(Seq(60 * MB, 60 * MB, 100 * MB)))
    assert(
      sizes(FactKind.Keys, 3000 * MB, 2000 * MB, 2000 * MB) == Seq(Seq(3000 * MB), Seq(2000 * MB, 2000 * MB)),
      "of at most 4 GB")
    assert(sizes(FactKind.Keys, 3 * FactJoins.MostBytes, 1) == Seq(Seq(1), Seq(3 * FactJoins.MostBytes)))
  }

  test("after many commits of one size the files of keys are few, and each key was written few times") {
    var (files, written) = (Seq.empty[Long], 0L)
    (0 until 1000).foreach { _ =>
      val groups = FactJoins.groups(FactKind.Keys, files :+ 100000L)(identity)
      written += groups.filter(_.size > 1).map(_.sum).sum
      files = groups.map(_.sum)
    }
    assert(files.sum == 100000000L && files.size <= 8)
    assert(written <= 40 * files.sum)
  }
}
