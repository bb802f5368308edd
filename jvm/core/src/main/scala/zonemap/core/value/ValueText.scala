// SPDX-License-Identifier: Apache-2.0
package zonemap.core.value

import java.math.BigDecimal
import java.time.{Instant, LocalDate, LocalTime, ZoneOffset}
import java.util.HexFormat

/** Formats values for display; no code parses or compares these texts. */
private[zonemap] object ValueText {

  def of(columnType: ColumnType, value: ZoneValue): String = (columnType, value) match {
    case (BooleanType, LongValue(v))            => (v != 0).toString
    case (FloatType | DoubleType, LongValue(v)) => ZoneValues.toDouble(v).toString
    case (DateType, LongValue(v))               => ranged(v)(LocalDate.ofEpochDay(v).toString)
    case (TimeType, LongValue(v))          => ranged(v)(LocalTime.ofNanoOfDay(Math.multiplyExact(v, 1000L)).toString)
    case (TimestampType, LongValue(v))     => ranged(v)(local(v, 1000000L))
    case (TimestampNsType, LongValue(v))   => ranged(v)(local(v, 1000000000L))
    case (TimestampTzType, LongValue(v))   => ranged(v)(instant(v, 1000000L).toString)
    case (TimestampTzNsType, LongValue(v)) => ranged(v)(instant(v, 1000000000L).toString)
    case (DecimalType(_, scale), v)        => new BigDecimal(ZoneValues.toUnscaled(v), scale).toPlainString
    case (StringType, v: BytesValue)       => "'" + printable(v.utf8.replace("'", "''")) + "'"
    case (UuidType, v: BytesValue) if v.bytes.length == 16 => ZoneValues.toUuid(v).toString
    case (_, LongValue(v))                                 => v.toString
    case (_, BytesValue(bytes))                            => "X'" + HexFormat.of().formatHex(bytes) + "'"
  }

  /** The text on one line: control characters, line separators and invisible marks become Unicode escapes. */
  def printable(text: String): String =
    if (!text.exists(isUnprintable)) text
    else text.flatMap(c => if (isUnprintable(c)) f"\\u${c.toInt}%04x" else c.toString)

  private def isUnprintable(c: Char): Boolean =
    Character.getType(c).toByte match {
      case Character.CONTROL | Character.FORMAT | Character.LINE_SEPARATOR | Character.PARAGRAPH_SEPARATOR => true
      case _                                                                                               => false
    }

  private def instant(value: Long, unitsPerSecond: Long): Instant =
    Instant.ofEpochSecond(
      Math.floorDiv(value, unitsPerSecond),
      Math.floorMod(value, unitsPerSecond) * (1000000000L / unitsPerSecond))

  private def local(value: Long, unitsPerSecond: Long): String =
    instant(value, unitsPerSecond).atOffset(ZoneOffset.UTC).toLocalDateTime.toString

  /** Formats a date or time, or returns the raw number if the calendar classes cannot hold it. */
  private def ranged(raw: Long)(text: => String): String =
    try text
    catch { case _: java.time.DateTimeException | _: ArithmeticException => raw.toString }
}
