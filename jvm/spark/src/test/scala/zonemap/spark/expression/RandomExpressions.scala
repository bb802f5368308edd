// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import java.time.{LocalDate, LocalDateTime, ZoneId, ZoneOffset}

import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import zonemap.core.Rng
import zonemap.core.value.ColumnType

/**
 * Random conditions, as SQL text, on the columns of [[RandomExpressions.schema]], and random rows of that schema.
 *
 * @param others whether to include functions that do not preserve the order of their arguments
 */
final class RandomExpressions(rng: Rng, zone: ZoneId, others: Boolean = false) {
  import RandomExpressions._

  /** A random value in Catalyst's representation; null in some cases. */
  def value(field: StructField): Any = if (rng.chance(10)) null else nonNull(field.dataType)

  private def nonNull(dataType: DataType): Any =
    dataType match {
      case BooleanType => rng.chance(50)
      case IntegerType => near(Seq(0, 1, -1, 777, 100, Int.MaxValue.toLong, Int.MinValue.toLong)).toInt
      case LongType =>
        near(Seq(0, 777, Int.MaxValue.toLong, Int.MinValue.toLong, 1600000000L, Long.MaxValue, Long.MinValue, 1L << 53))
      case FloatType  => real().toFloat
      case DoubleType => real()
      case d: DecimalType =>
        Decimal(
          near(Seq(0L, 100L, 12345L, -250L, 9999999999L)).max(-9999999999L).min(9999999999L),
          d.precision,
          d.scale)
      case DateType                         => day().toInt
      case TimestampType | TimestampNTZType => micros()
      case StringType                       => UTF8String.fromString(text())
    }

  private def near(centres: Seq[Long]): Long =
    rng.pick(centres) + (if (rng.chance(50)) rng.int(5) - 2 else rng.int(2000) - 1000)

  private def real(): Double =
    if (rng.chance(15))
      rng.pick(
        Seq(Double.NaN, -0.0, 0.0, Double.PositiveInfinity, Double.NegativeInfinity, 1e300, 2147483648.0, 9.3e18))
    else (rng.int(4000) - 2000) / rng.pick(Seq(1.0, 2.0, 7.0, 100.0))

  private def day(): Long = {
    val centre =
      rng.pick(Seq("2026-01-01", "1970-01-01", "2011-12-30", "2020-02-29", "1582-10-10", "2018-02-18", "2069-12-31"))
    LocalDate.parse(centre).toEpochDay + (if (rng.chance(60)) rng.int(7) - 3 else rng.int(3000) - 1500) +
      (if (rng.chance(3)) rng.pick(Seq(-719162L - 500000, 2932896L, 4000000L)) else 0L)
  }

  private def micros(): Long =
    if (rng.chance(3)) rng.pick(Seq(-62135596800000000L, 253402300799999999L, Long.MinValue / 4, Long.MaxValue / 4))
    else {
      val local = LocalDateTime.parse(rng.pick(Days))
      val at = local.toInstant(if (rng.chance(50)) ZoneOffset.UTC else zone.getRules.getOffset(local)).getEpochSecond
      val off = rng.pick(Seq(3600L, 3600L * 30, 86400L * 400))
      (at + (rng.long() % off)) * 1000000L + rng.pick(Seq(0L, 0L, 1L, 999999L, 500000L))
    }

  private def text(): String =
    Seq.fill(rng.int(4))(rng.pick(Seq("a", "b", "z", "\u00e9", "\uffee", "\ud83d\ude00", "0"))).mkString

  /** A random condition. `literalOf` returns the SQL text of a value that the given expression has on some row. */
  def condition(depth: Int)(literalOf: (String, Rng) => Option[String]): String =
    rng.int(if (depth == 0) 8 else 12) match {
      case 3 => columns()
      case 0 => s"${expression(2)._1} IS ${rng.pick(Seq("", "NOT "))}NULL"
      case 1 =>
        val (e, _) = expression(2)
        val list = Seq.fill(1 + rng.int(3))(literalOf(e, rng)).flatten
        val nulls = if (rng.chance(10)) Seq("NULL") else Nil
        s"$e ${rng.pick(Seq("", "NOT "))}IN (${(if (list.isEmpty) Seq("NULL") else list ++ nulls).mkString(", ")})"
      case 2 =>
        val (e, _) = typed(StringType, 2) -> StringType
        s"$e ${rng.pick(Seq("", "NOT "))}LIKE '${rng.pick(Seq("a", "2026", "ab", "2011-12", "\u00e9"))}%'"
      case 8  => s"(${condition(depth - 1)(literalOf)} AND ${condition(depth - 1)(literalOf)})"
      case 9  => s"(${condition(depth - 1)(literalOf)} OR ${condition(depth - 1)(literalOf)})"
      case 10 => s"NOT (${condition(depth - 1)(literalOf)})"
      case 11 =>
        s"if(${condition(depth - 1)(literalOf)}, ${condition(depth - 1)(literalOf)}, ${condition(depth - 1)(literalOf)})"
      case _ =>
        val (e, _) = expression(3)
        val op = rng.pick(Seq("=", "<", "<=", ">", ">=", "<>", "<=>"))
        literalOf(e, rng).fold(s"$e IS NOT NULL")(l => if (rng.chance(80)) s"$e $op $l" else s"$l $op $e")
    }

  /** A comparison of two columns, of the same type or of two types that Spark widens. */
  private def columns(): String = {
    val (left, right) = rng.pick(
      Seq(
        "i" -> "l",
        "l" -> "i",
        "f" -> "d",
        "d" -> "f",
        "i" -> "i2",
        "ts" -> "ts2",
        "s" -> "s2",
        "d" -> "d2",
        "dt" -> "dt"))
    val compared = s"$left ${rng.pick(Seq("=", "<", "<=", ">", ">=", "<>"))} $right"
    if (rng.chance(30)) s"NOT ($compared)" else compared
  }

  private def expression(depth: Int): (String, DataType) = {
    val dataType = rng.pick(schema.fields.toSeq).dataType
    (typed(dataType, depth), dataType)
  }

  /** A random expression of the given type, or of one close to it. */
  private def typed(dataType: DataType, depth: Int): String = {
    def column = schema.fields.find(_.dataType == dataType).get.name
    def in(other: DataType) = typed(other, depth - 1)
    def n = rng.pick(Seq(1, 2, 7, -1, -3, 1000))
    def other: Option[String] =
      Option(dataType).collect {
        case IntegerType =>
          rng.pick(
            Seq(s"(${in(IntegerType)} % 7)", s"length(${in(StringType)})", "hour(ts)", "(i * i2)", "dayofweek(dt)"))
        case LongType    => rng.pick(Seq(s"(${in(LongType)} % 10)", s"xxhash64(${in(StringType)}, b)", "bit_count(l)"))
        case DoubleType  => rng.pick(Seq(s"sqrt(${in(DoubleType)})", "(d * d2)", s"sin(${in(DoubleType)})"))
        case BooleanType => rng.pick(Seq(s"(${in(StringType)} LIKE '%b')", "(s RLIKE '^[ab]')", "(b = (i % 2 = 0))"))
        case StringType =>
          rng.pick(
            Seq(
              s"upper(${in(StringType)})",
              s"reverse(${in(StringType)})",
              s"md5(${in(StringType)})",
              "date_format(ts, 'HH:mm')",
              s"CAST(${in(DoubleType)} AS STRING)"))
      }
    if (depth == 0 || rng.chance(15)) column
    else if (others && rng.chance(40) && other.isDefined) other.get
    else
      dataType match {
        case BooleanType => column
        case IntegerType =>
          rng.int(14) match {
            case 0  => s"(${in(IntegerType)} + $n)"
            case 1  => s"($n - ${in(IntegerType)})"
            case 2  => s"(${in(IntegerType)} * $n)"
            case 3  => s"(- ${in(IntegerType)})"
            case 4  => s"abs(${in(IntegerType)})"
            case 5  => s"CAST(${in(LongType)} AS INT)"
            case 6  => s"year(${in(DateType)})"
            case 7  => s"${rng.pick(Seq("month", "quarter", "dayofyear"))}(${in(DateType)})"
            case 8  => s"CAST(${in(DoubleType)} AS INT)"
            case 9  => s"coalesce(${in(IntegerType)}, $n)"
            case 10 => s"CASE WHEN i > $n THEN ${in(IntegerType)} WHEN l < $n THEN $n ELSE ${in(IntegerType)} END"
            case 11 => s"if(d < $n, $n, ${in(IntegerType)})"
            case 12 => s"extract(YEAROFWEEK FROM ${in(DateType)})"
            case _  => s"(${in(IntegerType)} - $n)"
          }
        case LongType =>
          rng.int(8) match {
            case 0 => s"CAST(${in(IntegerType)} AS BIGINT)"
            case 1 => s"${rng.pick(Seq("floor", "ceil"))}(${in(DoubleType)})"
            case 2 => s"unix_timestamp(${in(TimestampType)})"
            case 3 => s"(${in(LongType)} div $n)"
            case 4 => s"(${in(LongType)} + $n)"
            case 5 => s"(${in(LongType)} * $n)"
            case 6 => s"CAST(${in(TimestampType)} AS BIGINT)"
            case _ => s"(- ${in(LongType)})"
          }
        case FloatType => rng.pick(Seq(s"(f + CAST($n AS FLOAT))", "f", "CAST(d AS FLOAT)", "(- f)"))
        case DoubleType =>
          rng.int(8) match {
            case 0 => s"CAST(${in(FloatType)} AS DOUBLE)"
            case 1 => s"(${in(DoubleType)} + ${n}D)"
            case 2 => s"(${in(DoubleType)} * ${n}.5D)"
            case 3 => s"(${in(DoubleType)} / ${n}D)"
            case 4 => s"CAST(${in(LongType)} AS DOUBLE)"
            case 5 => s"CAST(${in(DecimalColumn)} AS DOUBLE)"
            case 6 => s"abs(${in(DoubleType)})"
            case _ => s"round(${in(DoubleType)}, 1)"
          }
        case _: DecimalType =>
          rng.pick(
            Seq(
              "m",
              s"(m + 1.25)",
              s"(m * $n)",
              s"(- m)",
              "CAST(m AS DECIMAL(6, 1))",
              s"CAST(${in(IntegerType)} AS DECIMAL(8, 0))",
              "floor(m)"))
        case DateType =>
          rng.int(9) match {
            case 0 => s"CAST(${in(TimestampType)} AS DATE)"
            case 1 => s"to_date(${in(TimestampNTZType)})"
            case 2 => s"date_add(${in(DateType)}, $n)"
            case 3 => s"trunc(${in(DateType)}, '${rng.pick(Seq("YEAR", "MONTH", "WEEK", "QUARTER"))}')"
            case 4 => s"add_months(${in(DateType)}, $n)"
            case 5 => s"last_day(${in(DateType)})"
            case 6 => s"(${in(DateType)} + INTERVAL '$n' MONTH)"
            case 7 => s"(${in(DateType)} - INTERVAL '$n' DAY)"
            case _ => s"coalesce(${in(DateType)}, DATE '2026-01-01')"
          }
        case TimestampType =>
          rng.int(7) match {
            case 4 => s"(${in(TimestampType)} + INTERVAL '$n' ${rng.pick(Seq("DAY", "HOUR"))})"
            case 5 => s"${rng.pick(Seq("from", "to"))}_utc_timestamp(${in(TimestampType)}, 'America/Havana')"
            case 0 =>
              s"date_trunc('${rng.pick(Seq("YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE"))}', ${in(TimestampType)})"
            case 1 => s"CAST(${in(DateType)} AS TIMESTAMP)"
            case 2 => s"CAST(${in(TimestampNTZType)} AS TIMESTAMP)"
            case 3 => s"timestamp_seconds(CAST(${in(IntegerType)} AS BIGINT))"
            case _ => s"CASE WHEN b THEN ${in(TimestampType)} END"
          }
        case TimestampNTZType =>
          rng.pick(Seq("n", s"CAST(${in(TimestampType)} AS TIMESTAMP_NTZ)", s"CAST(${in(DateType)} AS TIMESTAMP_NTZ)"))
        case StringType =>
          rng.int(11) match {
            case 8  => s"CAST(${in(rng.pick(Seq(IntegerType, LongType)))} AS STRING)"
            case 9  => s"concat(${in(StringType)}, '${rng.pick(Seq("-", "b", ""))}', s2)"
            case 10 => s"concat('a', ${in(StringType)}, CAST(i AS STRING))"
            case 0  => s"substring(${in(StringType)}, 1, ${1 + rng.int(4)})"
            case 1  => s"left(${in(StringType)}, ${1 + rng.int(10)})"
            case 2  => s"date_format(${in(TimestampType)}, '${rng.pick(Formats)}')"
            case 3  => s"CAST(${in(DateType)} AS STRING)"
            case 4  => s"CAST(${in(TimestampType)} AS STRING)"
            case 5  => s"from_unixtime(unix_timestamp(${in(TimestampType)}))"
            case 6  => s"concat('${rng.pick(Seq("a", "\u00e9b"))}', ${in(StringType)})"
            case _  => s"coalesce(${in(StringType)}, 'b')"
          }
      }
  }
}

object RandomExpressions {
  private val DecimalColumn = DecimalType(10, 2)

  /** The type of a column of the index for a type of the schema. */
  def columnType(dataType: DataType): ColumnType =
    ColumnType
      .parse(dataType match {
        case IntegerType      => "int"
        case LongType         => "long"
        case TimestampType    => "timestamptz"
        case TimestampNTZType => "timestamp"
        case d: DecimalType   => s"decimal(${d.precision}, ${d.scale})"
        case other            => other.typeName
      })
      .get

  val schema: StructType = StructType(
    Seq(
      StructField("i", IntegerType),
      StructField("l", LongType),
      StructField("d", DoubleType),
      StructField("f", FloatType),
      StructField("m", DecimalColumn),
      StructField("dt", DateType),
      StructField("ts", TimestampType),
      StructField("n", TimestampNTZType),
      StructField("s", StringType),
      StructField("b", BooleanType),
      StructField("i2", IntegerType),
      StructField("d2", DoubleType),
      StructField("ts2", TimestampType),
      StructField("s2", StringType)
    ))

  val Zones: Seq[String] =
    Seq("UTC", "America/Havana", "America/Sao_Paulo", "Pacific/Apia", "Australia/Lord_Howe", "Asia/Manila", "+05:30")

  private val Formats = Seq("yyyy", "yyyy-MM", "yyyy-MM-dd", "yyyyMMdd", "yyyy-MM-dd HH:mm:ss", "dd-MM-yyyy", "MM")

  /** Local times at which the zones above change their offset; some changes cross midnight or skip a day. */
  private val Days = Seq(
    "2021-03-14T00:00:00",
    "2021-11-07T01:00:00",
    "2018-02-18T00:00:00",
    "2018-11-04T00:00:00",
    "2011-12-30T00:00:00",
    "2011-12-31T00:00:00",
    "1892-07-04T12:00:00",
    "2026-01-01T00:00:00",
    "2024-04-07T02:00:00",
    "1844-12-31T00:00:00",
    "1999-12-31T23:59:59",
    "2020-06-15T12:30:00"
  )

  def sql(value: Any, dataType: DataType): String = Literal(value, dataType).sql
}
