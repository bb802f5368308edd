// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.explain

import zonemap.iceberg.report.AggregateReason

/**
 * A line of EXPLAIN about an operator above a scan.
 *
 * @param subject the subject of the line, such as "top-k bound"
 * @param text its effect
 * @param reason the reason why it prunes no file; `None` if it prunes
 */
private[zonemap] final case class ScanNote(subject: String, text: String, reason: Option[Coded] = None) {

  def line: String =
    Seq(subject, text).filter(_.nonEmpty).mkString(": ") + reason.fold("")(r => s", ${r.code} (${r.message})")
}

private[zonemap] object ScanNote {

  def of(reason: AggregateReason): ScanNote = aggregates("all planned files read", reason)

  /** The line about an aggregate that Iceberg evaluated. */
  def ofIceberg(reason: AggregateReason): ScanNote = aggregates("evaluated by Iceberg", reason)

  private def aggregates(text: String, reason: AggregateReason): ScanNote =
    ScanNote("aggregates", text, Some(Coded.of(reason.code, reason.message, reason)))

  /** Splits a note such as "join pruning on k: 366 -> 12 files". */
  def parse(note: String): ScanNote =
    note.split(": ", 2) match {
      case Array(subject, text) => ScanNote(subject, text)
      case _                    => ScanNote(note, "")
    }
}

/** A reason of one of the catalogues: its stable code, its sentence, and its values by name. */
private[zonemap] final case class Coded(code: String, message: String, arguments: Map[String, String])

private[zonemap] object Coded {
  def of(code: String, message: String, reason: Any): Coded = Coded(code, message, argumentsOf(reason))

  /** The fields of a case class, in order. */
  private def argumentsOf(reason: Any): Map[String, String] =
    reason match {
      case product: Product =>
        product.productElementNames
          .zip(product.productIterator)
          .map {
            case (name, values: Seq[_]) => name -> values.mkString(", ")
            case (name, value)          => name -> value.toString
          }
          .toMap
      case _ => Map.empty
    }
}
