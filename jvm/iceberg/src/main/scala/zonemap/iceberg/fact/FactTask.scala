// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.fact

import zonemap.core.fact.{FactBuilder, FactFile, FactKey}
import zonemap.core.version.FactRef
import zonemap.iceberg.store.IndexStore

/**
 * A data file whose facts are built from all its physical rows. `records` is -1 if the number of records is unknown.
 */
private[zonemap] final case class FactInput(path: String, sizeBytes: Long, format: String, records: Long) {
  def key: FactKey = FactKey.of(path, sizeBytes)

  /** The number of rows, guessed from the size if it is unknown. */
  def rows: Long = if (records >= 0) records else sizeBytes / FactInput.BytesPerRowGuess
}

private object FactInput {
  private val BytesPerRowGuess = 8
}

/** Reads every physical row of one data file into builders, one for each request. */
private[zonemap] trait FactReader {
  def read(file: FactInput, requests: Seq[FactRequest], builders: Seq[FactBuilder]): Unit
}

/**
 * Builds facts about some data files in one Spark task, which reads each file once for all requests. Serializable. A
 * task may run twice: only the fact files of its last run are referenced.
 */
private[zonemap] final case class FactTask(files: Seq[FactInput], requests: Seq[FactRequest], maxValues: Int) {

  /** Reads the data files and writes one fact file for each request. */
  def write(reader: FactReader, store: IndexStore): Seq[FactRef] = {
    val facts = files.map { file =>
      val builders = requests.map(r => FactBuilder.of(r.kind, file.rows, maxValues))
      reader.read(file, requests, builders)
      (file.key, builders.map(_.result()))
    }
    requests.indices.map { i =>
      val request = requests(i)
      FactTask.store(request, facts.map { case (key, bytes) => (key, bytes(i)) }, store)
    }
  }
}

private[zonemap] object FactTask {

  /** The greatest total size of the data files of one task, small enough for memory to hold its facts several times. */
  private val TargetBytes = 128L << 20
  private val MaxFiles = 1024

  /** Splits the building of facts about `files` into tasks. */
  def group(files: Seq[FactInput], requests: Seq[FactRequest], maxValues: Int): Seq[FactTask] = {
    val groups = files.foldLeft(List.empty[(Long, List[FactInput])]) {
      case ((bytes, group) :: done, file) if bytes + file.sizeBytes <= TargetBytes && group.size < MaxFiles =>
        (bytes + file.sizeBytes, file :: group) :: done
      case (done, file) => (file.sizeBytes, List(file)) :: done
    }
    groups.reverseIterator.map { case (_, group) => FactTask(group.reverse, requests, maxValues) }.toSeq
  }

  /** Writes one fact file. */
  def store(request: FactRequest, facts: Seq[(FactKey, Array[Byte])], store: IndexStore): FactRef = {
    val distinct = facts.toMap.toSeq
    this.store(request, FactFile.encoded(request.kind, request.column, request.columnType, distinct), store)
  }

  def store(request: FactRequest, file: FactFile.Encoded, store: IndexStore): FactRef = {
    val path = store.writeFacts(request.kind, request.column.fieldId, file)
    FactRef(
      path,
      file.contentHash,
      file.sizeBytes,
      request.kind,
      request.column,
      file.files,
      file.facts,
      mapping = request.mapping)
  }
}

/** Runs the tasks of a build of facts; returns references to the fact files that the tasks wrote. */
private[zonemap] trait FactTaskRunner {
  def build(tasks: Seq[FactTask], store: IndexStore): Seq[FactRef]

  /** The versions that evaluate paths in JSON and variants; None if nothing does. */
  def evaluator: Option[String] = None
}
