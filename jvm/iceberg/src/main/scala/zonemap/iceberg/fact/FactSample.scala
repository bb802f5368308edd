// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.fact

import org.apache.iceberg.Table

import zonemap.core.fact.FactKind
import zonemap.core.version.FactRef
import zonemap.iceberg.convert.VariantPath
import zonemap.iceberg.store.IndexStore

/** The data files whose facts are built first. Their facts give an estimate for all files. */
private[zonemap] object FactSample {
  private val LeastFiles = 3

  /** A trial also counts the files that a fact would prune, which takes more files than an estimate of bytes. */
  val LeastOfTrial = 8
  private val MostFiles = 12

  /** One of this many files is in the sample, within the limits above. */
  private val OneOf = 10

  /** Returns data files of all sizes, the smallest and the largest among them. */
  def take(files: Seq[FactInput], least: Int = LeastFiles): Seq[FactInput] = {
    val count = (files.size / OneOf).max(least).min(MostFiles)
    if (files.size <= count) files
    else {
      val bySize = files.sortBy(_.rows).toVector
      (0 until count).map(i => bySize((i.toLong * (bySize.size - 1) / (count - 1)).toInt))
    }
  }

  /**
   * Returns the bytes of the fact of each data file in the sample; zero if the file cannot have the fact.
   *
   * @param written the fact files of the sample
   */
  def costs(
      request: FactRequest,
      sample: Seq[FactInput],
      written: Seq[FactRef],
      store: IndexStore): Seq[(FactInput, Int)] = {
    val facts = written
      .filter(ref => ref.kind == request.kind && ref.column == request.column)
      .map(store.openFacts(_))
    sample.flatMap(file => facts.find(_.has(file.key)).map(found => (file, found.bytesOf(file.key))))
  }

  /** @throws IllegalArgumentException if no file of the sample, which has these `costs`, can have the fact */
  def require(table: Table, request: FactRequest, costs: Seq[(FactInput, Int)]): Unit =
    if (costs.forall(_._2 == 0)) {
      def refuse(why: String) =
        throw new IllegalArgumentException(
          s"Cannot build ${request.text} of '${table.name()}': each of the ${costs.size} sampled files has $why.")
      val many = s"more than ${FactBuild.MaxValues} distinct values"
      (request.path, request.kind) match {
        case (Some(_: VariantPath), kind) if costs.nonEmpty =>
          refuse(
            s"a row for which variant_get fails or returns the text of a double, a time, an object or a list, or the " +
              s"date of a timestamp${if (kind == FactKind.Values) s", or $many" else ""}")
        case (_, FactKind.Values) =>
          refuse(s"$many. A bloom filter evaluates = and IN of such a column: bloom(${request.name})")
        case _ => ()
      }
    }
}
