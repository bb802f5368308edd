// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.advice

import zonemap.iceberg.prune.FileSet
import zonemap.insight.reason.ConditionEffect

/** Files and their bytes. */
private[zonemap] final case class Size(files: Long, bytes: Long) {
  def +(other: Size): Size = Size(files + other.files, bytes + other.bytes)
  def *(times: Int): Size = Size(files * times, bytes * times)

  /** A part of these files, of the same average size. */
  def only(count: Long): Size = if (files == 0) Size.Zero else Size(count, (bytes.toDouble / files * count).round)
}

private[zonemap] object Size {
  val Zero: Size = Size(0, 0)
  val Unknown: Size = Size(-1, -1)

  def of(files: FileSet): Size = {
    var bytes = 0L
    files.foreachSegment((segment, rows) => rows.forEach(row => bytes += segment.fileSizeBytes(row)))
    Size(files.count, bytes)
  }

  def sum(sizes: Iterable[Size]): Size = sizes.foldLeft(Zero)(_ + _)
}

/**
 * The cost of following an advice.
 *
 * @param files data files that it reads
 * @param bytes bytes that it writes
 */
private[zonemap] final case class Cost(files: Long, rows: Long, bytes: Long)

private[zonemap] object Cost {
  val Nothing: Cost = Cost(0, 0, 0)
}

/**
 * A row of `advise`.
 *
 * @param kind one of [[Advice.kinds]]
 * @param subject the column, the fact, or the condition
 * @param scans the number of observed scans that the sizes are the sum of
 * @param before files that these scans keep
 * @param after files that they would keep
 * @param statement the SQL that follows the advice; empty for one that cannot help
 */
private[zonemap] final case class Advice(
    kind: String,
    subject: String,
    scans: Long,
    before: Size,
    after: Size,
    cost: Cost,
    statement: String,
    message: String)

private[zonemap] object Advice {
  val Sort = "sort"
  val Fact = "fact"
  val Columns = "columns"
  val Metrics = "metrics"
  val NoHelp = "no help"

  /** An advice must save this share of the files that the scans keep. */
  val LeastGain = 0.2

  def helps(before: Size, after: Size): Boolean = after.files <= before.files * (1 - LeastGain)

  def noHelp(subject: String, scans: Long, size: Size, message: String): Advice =
    Advice(NoHelp, subject, scans, size, size, Cost.Nothing, "", message)

  def files(count: Long): String = ConditionEffect.count(count) + (if (count == 1) " file" else " files")

  def scans(count: Long): String = ConditionEffect.count(count) + (if (count == 1) " scan" else " scans")
}
