// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.internal.{LegacyBehaviorPolicy, SQLConf}
import org.apache.spark.sql.types.{DateType, DecimalType, StringType}

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

  private final case class LateConf(key: String, values: Seq[String], isReader: Expression => Boolean)

  private val Flags = Seq("true", "false")

  private val ofTimes =
    LateConf(
      SQLConf.LEGACY_TIME_PARSER_POLICY.key,
      LegacyBehaviorPolicy.values.toSeq.map(_.toString),
      {
        case _: TimestampFormatterHelper      => true
        case Cast(child, _: StringType, _, _) => child.dataType == DateType
        case _                                => false
      }
    )

  private val ofCases = MinorExpressions.caseMappingConf.map { key =>
    LateConf(
      key,
      Flags,
      {
        case _: Upper | _: Lower => true
        case _                   => false
      })
  }

  /** The precision of such a result is the greatest one under each value of the conf. */
  private val ofDecimals = MinorExpressions.decimalConf.map { key =>
    LateConf(
      key,
      Flags,
      {
        case arithmetic: BinaryArithmetic =>
          arithmetic.dataType match {
            case decimal: DecimalType => decimal.precision == DecimalType.MAX_PRECISION
            case _                    => false
          }
        case _ => false
      }
    )
  }

  private val known = ofTimes +: (ofCases ++ ofDecimals).toSeq
}
