// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.fact

import zonemap.core.fact.{FactFile, FactKey}
import zonemap.core.value.ColumnType
import zonemap.core.version.FactRef
import zonemap.iceberg.snapshot.{SnapshotIndex, TableFacts}

/**
 * The live data files of a snapshot, and which of them have the requested facts.
 *
 * @param held the facts that the table has
 */
private[fact] final class FactWork(indexed: SnapshotIndex, held: TableFacts, val requests: Seq[FactRequest]) {

  val files: Seq[(FactKey, FactInput)] =
    indexed.segments.flatMap { live =>
      val segment = live.segment
      val paths = segment.newPathReader()
      live.liveRows().toArray.toSeq.map { row =>
        val file = FactInput(paths.path(row), segment.fileSizeBytes(row), segment.format(row), segment.recordCount(row))
        (file.key, file)
      }
    }

  val inputs: Seq[FactInput] = files.map(_._2)

  /** The fact files of each request that can be used. */
  val had: Map[FactRequest, Seq[(FactRef, FactFile)]] = requests.map { request =>
    def isUsable(file: FactFile) = ColumnType.comparable(file.columnType, request.columnType)
    request -> held.files(request.column, request.kind).filter { case (ref, file) =>
      ref.mapping == request.mapping && isUsable(file)
    }
  }.toMap

  /** The data files that lack the fact. */
  val missing: Map[FactRequest, Seq[FactInput]] = requests.map { request =>
    request -> files.filterNot { case (key, _) => had(request).exists(_._2.has(key)) }.map(_._2)
  }.toMap

  /** The data files that have the fact, with its bytes. */
  val known: Map[FactRequest, Seq[(FactInput, Int)]] = requests.map { request =>
    request -> files.flatMap { case (key, file) =>
      had(request).find(_._2.has(key)).map { case (_, facts) => (file, facts.bytesOf(key)) }
    }
  }.toMap

  /**
   * The requests that only a sample can estimate: no live file has the fact, or a file that lacks it has more or fewer
   * rows than all files that have it.
   */
  val unmeasured: Seq[FactRequest] = requests.filter { r =>
    val rows = known(r).map(_._1.rows)
    val (least, most) = (rows.minOption, rows.maxOption)
    missing(r).exists(file => !least.exists(_ <= file.rows) || !most.exists(_ >= file.rows))
  }

  /** The requests for facts that no data file of the table had before. Only such a fact may be refused. */
  val added: Seq[FactRequest] = requests.filter { r =>
    missing(r).nonEmpty && !held.refs.exists(ref => ref.kind == r.kind && ref.column == r.column)
  }

  /** Estimates the bytes of each request for all live files; `sampled` has bytes of those in `unmeasured`. */
  def expected(sampled: Map[FactRequest, Seq[(FactInput, Int)]]): Map[FactRequest, Long] =
    requests.map { request =>
      val stored = had(request).map(_._1.sizeBytes).sum
      request -> (stored + new FactEstimate(request, known(request) ++ sampled.getOrElse(request, Nil))
        .of(missing(request)))
    }.toMap
}
