// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.fact

import java.util.Locale

import org.apache.iceberg.Table

/**
 * The bytes that all facts of a table may take together.
 *
 * @param share the largest share of the bytes of the table's data files
 */
private[zonemap] final case class FactLimit(share: Double) {
  import FactLimit._

  /** True if a build refuses no fact. */
  def isUnlimited: Boolean = share.isPosInfinity

  private def bytesFor(files: Seq[FactInput]): Long = bytesFor(files.size.toLong, dataBytes(files))

  /** The most bytes that all facts may take, of so many data files of so many bytes. */
  def bytesFor(files: Long, dataBytes: Long): Long =
    (dataBytes * share).toLong.max((files * FreeBytesPerFile).min(FreeBytes))

  /**
   * @param requests the facts that are about to be built
   * @param facts all facts of the table with their bytes, those in `requests` with their estimates
   * @throws IllegalArgumentException with the figures, if the facts take more than the limit
   */
  def require(table: Table, requests: Seq[FactRequest], facts: Seq[(String, Long)], files: Seq[FactInput]): Unit = {
    val needed = facts.map(_._2).sum
    if (needed > bytesFor(files)) {
      val names = requests.map(_.text)
      val sizes = facts.map { case (name, bytes) =>
        s"$name ${if (names.contains(name)) "about " else ""}${counted(bytes)}"
      }
      val enough = (needed * 100.0 / dataBytes(files).max(1L)).ceil / 100 + Slack
      throw new IllegalArgumentException(
        s"Cannot build ${names.mkString(", ")} of '${table.name()}': the facts of the table would take about " +
          s"${counted(needed)} bytes (${sizes.mkString(", ")}), but the limit is ${counted(bytesFor(files))} bytes, for " +
          s"data files of ${counted(dataBytes(files))} bytes: more than ${Math.round(share * 100)} % of the table's bytes. " +
          "Omit a fact, drop another one, or sort the table by the column, so that its bounds prune; " +
          s"max_fact_share => ${"%.2f".formatLocal(Locale.ROOT, enough)} builds them anyway.")
    }
  }
}

private[zonemap] object FactLimit {

  /** The limit of a call that names no other. */
  val Default: FactLimit = FactLimit(0.1)

  /** No limit, for facts that the table had before. */
  val Unlimited: FactLimit = FactLimit(Double.PositiveInfinity)

  /** Facts of tables with small files may take this many bytes for each file, and at most [[FreeBytes]] in all. */
  private val FreeBytesPerFile = 4096L
  private val FreeBytes = 1L << 20

  /** Added to the share that an error proposes, because the bytes are an estimate. */
  private val Slack = 0.05

  private def dataBytes(files: Seq[FactInput]): Long = files.iterator.map(_.sizeBytes).sum

  private def counted(bytes: Long): String = "%,d".formatLocal(Locale.ROOT, bytes)
}
