// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.runtime

import org.apache.spark.sql.catalyst.parser.{ParseException, ParserInterface}
import org.apache.spark.sql.catalyst.parser.extensions.{
  IcebergSparkSqlExtensionsParser,
  IcebergSqlExtensionsAstBuilder
}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/**
 * Parses `CALL`, which Spark 3.5 does not know, by the grammar of Iceberg's extensions. The parser of these extensions
 * takes a call by the names of Iceberg's own procedures only, so this one takes what no other parser does.
 *
 * It extends Iceberg's parser because Iceberg asks the parser of a session for more than Spark does.
 */
private[runtime] final class CallParser(others: ParserInterface) extends IcebergSparkSqlExtensionsParser(others) {
  private lazy val builder = new IcebergSqlExtensionsAstBuilder(others)

  override def parsePlan(text: String): LogicalPlan =
    try others.parsePlan(text)
    catch {
      case unknown: ParseException if CallParser.isCall(text) =>
        parse(text)(parser => builder.visit(parser.singleStatement())) match {
          case plan: LogicalPlan => plan
          case _                 => throw unknown
        }
    }
}

private object CallParser {
  private val Call = """(?is)(?:\s|--[^\n]*\n|/\*.*?\*/)*+CALL\b""".r.pattern

  /** Whether the first word behind comments is CALL. */
  def isCall(text: String): Boolean = Call.matcher(text).lookingAt()
}
