// SPDX-License-Identifier: Apache-2.0
package zonemap.spark

/** Texts of errors in the messages of this product. */
private[zonemap] object ErrorText {

  /** The first line of the message that is not blank: messages of Spark's parser begin with a line break. */
  def firstLine(error: Throwable): String =
    Option(error.getMessage).iterator
      .flatMap(_.linesIterator)
      .map(_.trim)
      .find(_.nonEmpty)
      .getOrElse(error.toString)
      .stripSuffix(".")
      .stripSuffix(";")
}
