// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.conf

import java.util.Locale

import scala.util.Try

import org.apache.spark.network.util.JavaUtils
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Signals a conf value that is not allowed. The message names the key, the value and the allowed values. */
private[zonemap] final class MalformedConfException(message: String) extends IllegalArgumentException(message)

/**
 * One conf of the extension.
 *
 * @param key the full name: `spark.sql.zonemap.` followed by a path in camel case
 * @param default the value of an unset conf, as text
 * @param allowed the allowed values, for messages and for the reference page
 * @param doc one or two sentences for the reference page
 * @param advanced whether the reference page has it in the second table: most users keep its default
 */
private[zonemap] final case class ConfEntry[A](
    key: String,
    default: String,
    allowed: String,
    doc: String,
    parse: String => Option[A],
    advanced: Boolean = false) {

  /** The name of the read option for a single DataFrame: the key without the `spark.sql.` prefix. */
  def option: String = key.stripPrefix("spark.sql.")

  def read(conf: SQLConf, options: CaseInsensitiveStringMap): A =
    valueOf(Option(options.get(option)).getOrElse(conf.getConfString(key, default)))

  /** @throws MalformedConfException if the text is not allowed */
  def valueOf(text: String): A =
    parse(text.trim).getOrElse {
      throw new MalformedConfException(s"Cannot use $key='$text': allowed are $allowed.")
    }
}

private[zonemap] object ConfEntry {
  // Parsers of values: `None` means that the text is not allowed.
  def flag(text: String): Option[Boolean] = text.toLowerCase(Locale.ROOT).toBooleanOption
  def bytes(text: String): Option[Long] = Try(JavaUtils.byteStringAsBytes(text)).toOption.filter(_ >= 0)
  def count(text: String): Option[Int] = text.toIntOption.filter(_ >= 0)
  def atLeast(least: Int)(text: String): Option[Int] = text.toIntOption.filter(_ >= least)
  def share(text: String): Option[Double] = text.toDoubleOption.filter(s => s > 0 && s <= 1)
  def shareOrNone(text: String): Option[Double] = text.toDoubleOption.filter(s => s >= 0 && s <= 1)
  def millis(text: String): Option[Long] = Try(JavaUtils.timeStringAsMs(text)).toOption.filter(_ >= 0)
}
