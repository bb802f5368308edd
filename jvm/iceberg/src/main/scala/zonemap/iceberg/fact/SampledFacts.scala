// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.fact

import zonemap.core.eval.FactLookup
import zonemap.core.fact.FactFile

/**
 * The facts of a sample of data files, as a trial has built them.
 *
 * @param files the data files of the sample
 */
private[zonemap] final class SampledFacts(val files: Seq[FactInput], facts: Seq[FactFile]) {
  private val byPath: Map[String, FactInput] = files.map(file => file.path -> file).toMap

  def has(path: String): Boolean = byPath.contains(path)

  /** The facts of the data file with this path, which must be one of the sample. */
  def of(path: String): FactLookup = {
    val key = byPath(path).key
    (column, kind) =>
      facts.iterator.filter(file => file.column == column && file.kind == kind).flatMap(_.find(key)).nextOption()
  }
}
