// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.procedure

import scala.util.control.NonFatal

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.parser.ParseException
import org.apache.spark.sql.catalyst.plans.logical.{Call, Command, LogicalPlan, ParsedStatement}
import org.apache.spark.sql.execution.{CommandExecutionMode, QueryExecution}

import zonemap.spark.ErrorText
import zonemap.spark.scan.SparkMinor
import zonemap.spark.scan.SparkMinor.ClassicSession
import zonemap.spark.table.IcebergTables

/** Reads the text of a query as a plan that is not executed. Errors name the query and a remedy. */
private[zonemap] object ReadQuery {
  private val MaxText = 200

  /**
   * Returns the query after optimization, in which Spark evaluates constants.
   *
   * @param verb the action of the caller, for the message of an error
   * @throws IllegalArgumentException if the text is not a single query, or if Spark cannot analyze or optimize it
   */
  def of(spark: SparkSession, text: String, verb: String): QueryExecution = {
    val session = spark.asInstanceOf[ClassicSession].sessionState
    def refusal(why: String, what: String) = s"Cannot $verb '${shortened(text)}': $why. $what."
    def refuse(why: String, what: String) = throw new IllegalArgumentException(refusal(why, what))
    def failed(e: Throwable, what: String) =
      throw IcebergTables.refused(refusal(ErrorText.firstLine(e), what), e)
    if (text.trim.isEmpty) refuse("it is empty", "Give the text of a SELECT")
    val parsed =
      try session.sqlParser.parsePlan(text)
      catch {
        case _: ParseException if isSeveral(session.sqlParser.parsePlan, text) =>
          refuse("it holds several statements", "Give one SELECT")
        case NonFatal(e) => failed(e, "Give the text of one SELECT")
      }
    if (parsed.exists(isCommand)) refuse("it is not a SELECT", "Give a query; EXPLAIN describes the scans of a command")
    val query =
      try {
        val query = session.executePlan(parsed, CommandExecutionMode.SKIP)
        query.assertAnalyzed()
        query
      } catch {
        case NonFatal(e) => failed(e, nextStep(e))
      }
    if (query.analyzed.isStreaming)
      refuse(
        "it reads a stream, whose files are planned batch by batch",
        "Give a query of the same table without STREAM")
    try query.optimizedPlan: Unit
    catch {
      case e: SparkThrowable if SparkMinor.conditionOf(e) != null =>
        failed(e.asInstanceOf[Throwable], "Correct the query: running it fails alike")
    }
    query
  }

  private def nextStep(error: Throwable): String =
    error match {
      case e: SparkThrowable if SparkMinor.conditionOf(e) == "UNBOUND_SQL_PARAMETER" =>
        "Write the values of its parameters into the text"
      case _ => "Correct the query, and name tables as catalog.namespace.table"
    }

  private def isCommand(plan: LogicalPlan): Boolean =
    plan match {
      case _: Command | _: ParsedStatement | _: Call => true
      case other                                     => Scripts.contains(other.nodeName)
    }

  /** Nodes that Spark's analyzer executes: a script, and the text of EXECUTE IMMEDIATE, which may be any statement. */
  private val Scripts = Set("CompoundBody", "UnresolvedExecuteImmediate")

  /** Whether the part before some semicolon is a statement of its own. */
  private def isSeveral(parse: String => LogicalPlan, text: String): Boolean =
    text.indices.filter(text(_) == ';').exists { at =>
      text.substring(at + 1).trim.nonEmpty &&
      (try {
        parse(text.substring(0, at))
        true
      } catch { case NonFatal(_) => false })
    }

  private def shortened(text: String): String = {
    val line = text.replaceAll("\\s+", " ").trim
    if (line.length <= MaxText) line else line.take(MaxText) + "..."
  }
}
