// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.runtime

import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.catalyst.parser.{ParseException, ParserInterface}
import org.apache.spark.sql.catalyst.parser.extensions.{IcebergSparkSqlExtensionsParser, IcebergSqlExtensionsAstBuilder}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.Decimal

import zonemap.spark.ZoneMapCatalog

/**
 * Parses `CALL`, which Spark 3.5 does not know, by the grammar of Iceberg's extensions. The parser of these extensions
 * takes a call by the names of Iceberg's own procedures only, so this one takes what no other parser does.
 *
 * Spark reads `0.5` as a decimal, and the extensions refuse a decimal for a parameter of type DOUBLE. Our procedures
 * have no parameter of a decimal type, so the decimals of their calls become doubles.
 *
 * It extends Iceberg's parser because Iceberg asks the parser of a session for more than Spark does.
 */
private[runtime] final class CallParser(others: ParserInterface) extends IcebergSparkSqlExtensionsParser(others) {
  import CallParser._

  private lazy val builder = new IcebergSqlExtensionsAstBuilder(others)

  override def parsePlan(text: String): LogicalPlan =
    try others.parsePlan(text)
    catch {
      case unknown: ParseException if isCall(text) =>
        parse(text)(parser => builder.visit(parser.singleStatement())) match {
          case call: CallStatement => withDoubles(call)
          case plan: LogicalPlan   => plan
          case _                   => throw unknown
        }
    }
}

private object CallParser {
  private val Call = """(?is)(?:\s|--[^\n]*\n|/\*.*?\*/)*+CALL\b""".r.pattern

  /** Whether the first word behind comments is CALL. */
  def isCall(text: String): Boolean = Call.matcher(text).lookingAt()

  private def withDoubles(call: CallStatement): CallStatement =
    if (!call.name.headOption.exists(isOurs)) call
    else
      call.copy(args = call.args.map {
        case NamedArgument(name, expr) => NamedArgument(name, withDoubles(expr))
        case PositionalArgument(expr)  => PositionalArgument(withDoubles(expr))
        case other                     => other
      })

  /** Whether the catalog of this name has our procedures. */
  private def isOurs(catalog: String): Boolean =
    SQLConf.get.getConfString(s"spark.sql.catalog.$catalog", "") == classOf[ZoneMapCatalog].getName

  private def withDoubles(argument: Expression): Expression =
    argument.transform { case Literal(value: Decimal, _) => Literal(value.toDouble) }
}
