package zonemap.iceberg.fact

import org.apache.iceberg.Table

import zonemap.core.fact.{FactFile, FactKind}
import zonemap.core.version.FactRef
import zonemap.iceberg.store.IndexStore

/** Builds the facts of a few data files first, to estimate the size of the facts of all files. */
private[fact] object FactSample {

  /** At most `count` files, evenly spread over the list. */
  def take(files: Seq[FactInput], count: Int): Seq[FactInput] =
    if (files.size <= count) files else (0 until count).map(i => files(i * (files.size - 1) / (count - 1)))

  /**
   * The estimated size of each request, in bytes.
   *
   * @param asked the requests that were never built, and the data files that lack them
   * @throws IllegalArgumentException with the figures, if the fact is worthwhile for no file of the sample
   */
  def check(
      table: Table,
      sample: Seq[FactInput],
      asked: Seq[(FactRequest, Seq[FactInput])],
      written: Seq[FactRef],
      store: IndexStore): Map[FactRequest, Long] =
    asked.map { case (request, files) =>
      val facts = written
        .filter(ref => ref.kind == request.kind && ref.column == request.column)
        .map(ref => FactFile.open(store.openFacts(ref)))
      val costs = sample.map(file => (file, facts.map(_.bytesOf(file.key)).sum))
      val expected = scaled(costs, files)
      request.kind match {
        case FactKind.Values => requireValues(table, request, costs)
        case _               => requireShare(table, request, costs, expected, files)
      }
      request -> expected
    }.toMap

  private def scaled(costs: Seq[(FactInput, Int)], files: Seq[FactInput]): Long = {
    val perByte = costs.map(_._2.toLong).sum.toDouble / costs.map(_._1.sizeBytes).sum.max(1L)
    (perByte * files.map(_.sizeBytes).sum).round
  }

  private def requireValues(table: Table, request: FactRequest, costs: Seq[(FactInput, Int)]): Unit =
    if (costs.forall(_._2 == 0))
      refuse(
        table,
        request,
        s"each of the ${costs.size} sampled files has more than ${FactBuild.MaxValues} distinct values",
        s"A bloom filter evaluates = and IN of such a column: bloom(${request.name})"
      )

  private def requireShare(
      table: Table,
      request: FactRequest,
      costs: Seq[(FactInput, Int)],
      expected: Long,
      files: Seq[FactInput]): Unit = {
    def isTooLarge(cost: (FactInput, Int)) =
      cost._2 > FactBuild.FreeBytes && cost._2 > cost._1.sizeBytes * FactBuild.MaxShare
    if (costs.forall(isTooLarge)) {
      val share = costs.map(_._2.toLong).sum * 100 / costs.map(_._1.sizeBytes).sum
      refuse(
        table,
        request,
        s"in each of the ${costs.size} sampled files it needs more than ${(FactBuild.MaxShare * 100).round} % " +
          s"of the file's bytes, $share % together; for all ${files.size} files it needs about $expected bytes for " +
          s"${files.map(_.sizeBytes).sum} bytes of data",
        "Omit this fact, or sort the table by the column, so that its bounds prune"
      )
    }
  }

  private def refuse(table: Table, request: FactRequest, why: String, what: String): Nothing =
    throw new IllegalArgumentException(s"Cannot build ${request.text} of '${table.name()}': $why. $what.")
}
