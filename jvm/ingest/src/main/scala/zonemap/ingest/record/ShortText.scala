// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.record

/** Texts of exceptions in files and columns: an exception of a store may quote a whole response. */
private[zonemap] object ShortText {

  /** The longest text, in characters. */
  val MaxLength = 1000

  private val End = "..."

  /** The text, or its beginning if it is longer than [[MaxLength]]. */
  def of(text: String): String =
    if (text == null || text.length <= MaxLength) String.valueOf(text)
    else {
      val kept = text.substring(0, MaxLength - End.length)
      (if (kept.last.isHighSurrogate) kept.init else kept) + End
    }
}
