// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.commit

import scala.collection.mutable

import zonemap.ingest.record.IngestRecord
import zonemap.ingest.table.{CheckedRecord, FileLength, Refusal, RefusalCode}

/**
 * The batch of a commit while it grows, within the limits of the settings. Not thread-safe.
 *
 * @param isChecked whether the files of a record must be checked
 * @param known what the store has reported of data files; a file without a report counts as right, see [[unchecked]]
 */
private[ingest] final class Batch(
    settings: IngestSettings,
    isChecked: IngestRecord => Boolean,
    known: Map[String, FileLength]) {
  private val paths = mutable.HashSet.empty[String]
  private val missing = mutable.LinkedHashSet.empty[String]
  private var records = 0
  private var files = 0
  private var bytes = 0L

  def isFull: Boolean =
    records >= settings.maxRecordsPerCommit || files >= settings.maxFilesPerCommit || bytes >= settings.maxBytesPerCommit

  /** The data files of admitted records that must be checked before the batch is committed. */
  def unchecked: Seq[String] = missing.toSeq

  /** Adds the record, unless one of its files is missing, has another length, is in the batch or cannot be checked. */
  def admit(checked: CheckedRecord): RecordVerdict = {
    val own = checked.files.map(_.location())
    fileProblem(checked).orElse(twice(own)).getOrElse {
      if (isChecked(checked.record)) missing ++= own.filterNot(known.contains)
      paths ++= own
      records += 1
      files += own.size
      bytes += checked.record.files.map(_.contentFile.length.toLong).sum
      RecordVerdict.Accept(checked)
    }
  }

  private def twice(own: Seq[String]): Option[RecordVerdict] =
    (own.find(paths) ++ own.diff(own.distinct)).headOption.map { path =>
      RecordVerdict.Refuse(
        Refusal(RefusalCode.PathTwice, s"another entry of the same commit names its data file '$path'"))
    }

  /** A file that is missing or has another length refuses the record, even if another file cannot be checked. */
  private def fileProblem(checked: CheckedRecord): Option[RecordVerdict] =
    if (!isChecked(checked.record)) None
    else {
      val problems = checked.files.flatMap { file =>
        known.get(file.location()).flatMap(problem(file.location(), file.fileSizeInBytes(), _))
      }
      problems.find(_.isInstanceOf[RecordVerdict.Refuse]).orElse(problems.headOption)
    }

  private def problem(path: String, expected: Long, found: FileLength): Option[RecordVerdict] = found match {
    case FileLength.Missing =>
      Some(RecordVerdict.Refuse(Refusal(RefusalCode.MissingFile, s"its data file '$path' does not exist")))
    case FileLength.Known(bytes) if bytes != expected =>
      val why = s"its data file '$path' has $bytes bytes, and the record gives $expected"
      Some(RecordVerdict.Refuse(Refusal(RefusalCode.WrongLength, why)))
    case FileLength.Known(_)     => None
    case FileLength.Unknown(why) => Some(RecordVerdict.Hold(HoldCause.Unchecked(path, why)))
  }
}
