// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.internal.{LegacyBehaviorPolicy, SQLConf}
import org.apache.spark.sql.types._

/**
 * The confs that Spark's functions read when they evaluate rows. A session may change them after it has planned a
 * query and before it runs it, so their values during planning prove nothing about the rows: SOUNDNESS, S63.
 */
private[expression] object LateConfs {

  /** Returns each combination of the values that these confs may have when the condition is evaluated on rows. */
  def combinations(condition: Expression): Seq[Map[String, String]] =
    known
      .filter(late => condition.exists(late.isReader))
      .foldLeft(Seq(Map.empty[String, String])) { (found, late) =>
        for (settings <- found; value <- late.values) yield settings + (late.key -> value)
      }

  /** True if a function reads other confs when it evaluates rows. */
  def readsOthers(function: Expression): Boolean =
    function match {
      // the policy for keys that occur twice, and whether zeros are one key
      case _: CreateMap | _: MapConcat | _: MapFromArrays | _: MapFromEntries | _: StringToMap => true
      // options of parsers and writers
      case _: JsonToStructs | _: StructsToJson | _: CsvToStructs | _: StructsToCsv => true
      case _: XmlToStructs | _: StructsToXml                                       => true
      // hashes of collated texts
      case hash: HashExpression[_] => hash.children.exists(c => isNested(c.dataType) || isCollated(c.dataType))
      // the style of binary values in nested values, and the format of intervals
      case Cast(child, to, _, _) => isNested(child.dataType) || isNested(to) || isInterval(to)
      case _                     => false
    }

  private final case class LateConf(key: String, values: Seq[String], isReader: Expression => Boolean)

  private val Flags = Seq("true", "false")

  private val known = Seq(
    LateConf(
      SQLConf.LEGACY_TIME_PARSER_POLICY.key,
      LegacyBehaviorPolicy.values.toSeq.map(_.toString),
      {
        case _: TimestampFormatterHelper      => true
        case Cast(child, _: StringType, _, _) => child.dataType == DateType
        case _                                => false
      }
    ),
    LateConf(
      SQLConf.ICU_CASE_MAPPINGS_ENABLED.key,
      Flags,
      {
        case _: Upper | _: Lower | _: InitCap => true
        case _                                => false
      }),
    LateConf(SQLConf.LEGACY_TRUNCATE_FOR_EMPTY_REGEX_SPLIT.key, Flags, _.isInstanceOf[StringSplit])
  )

  /** True for texts that are compared by a collation. */
  def isCollated(dataType: DataType): Boolean =
    dataType match {
      case text: StringType => text != StringType
      case _                => false
    }

  private def isNested(dataType: DataType): Boolean =
    dataType match {
      case _: ArrayType | _: MapType | _: StructType => true
      case _                                         => false
    }

  private def isInterval(dataType: DataType): Boolean =
    dataType match {
      case _: DayTimeIntervalType | _: YearMonthIntervalType | CalendarIntervalType => true
      case _                                                                        => false
    }
}
