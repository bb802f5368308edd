// SPDX-License-Identifier: Apache-2.0
package zonemap.docs

import java.nio.file.{Files, Path, Paths}

import org.apache.spark.sql.types.{DataType, StructField}

import zonemap.iceberg.report.{AggregateReason, OperatorReason, StockReason, SwapReason}
import zonemap.iceberg.upkeep.UpkeepProcess
import zonemap.insight.reason.{ConditionEffect, ConditionReason, ReasonExamples, Remedies}
import zonemap.spark.SharedSession
import zonemap.spark.conf.ZoneMapConf
import zonemap.spark.metrics.QueryRuns
import zonemap.spark.part.ZoneMapPart
import zonemap.spark.procedure.{Procedures, ZoneMapProcedure}
import zonemap.spark.scan.SparkProcess

/**
 * Generates the reference pages under docs/reference from the registries of confs, procedures and reasons.
 *
 * `make docs` writes the pages; a test fails if a page differs from its registry.
 */
object ReferencePages {

  /** The file name and the text of every page. */
  def pages: Seq[(String, String)] =
    Seq("configuration.md" -> configuration, "procedures.md" -> procedures, "reasons.md" -> reasons)

  /** Writes the pages into the folder that the only argument names. */
  def main(arguments: Array[String]): Unit = {
    require(arguments.length == 1, "Cannot write the reference pages: name one folder.")
    val folder: Path = Files.createDirectories(Paths.get(arguments(0)))
    pages.foreach { case (name, text) => Files.writeString(folder.resolve(name), text) }
    SharedSession.spark.stop()
  }

  private val generated = "<!-- Generated from the registries by `make docs`: do not edit. -->"

  private def page(lines: Seq[String]*): String = (generated +: "" +: lines.flatten).mkString("", "\n", "\n")

  private def typeOf(kind: DataType): String = s"`${kind.sql.toLowerCase}`"

  /** A text whose parts outside of code marks show `<`, which would else begin a tag of HTML. */
  private def prose(text: String): String =
    text
      .split("`", -1)
      .zipWithIndex
      .map { case (part, i) => if (i % 2 == 0) part.replace("<", "\\<") else part }
      .mkString("`")

  private def configuration: String = page(
    Seq(
      "# Configuration",
      "",
      "A read option of one DataFrame wins over the session conf, which wins over the default; the option has the same",
      "name without `spark.sql.`, for instance `.option(\"zonemap.enabled\", \"false\")`. Table properties are never read.",
      "`SET` refuses a value that is not allowed. If a session has one from elsewhere, procedures fail, and queries use",
      "Iceberg's planning and log one warning.",
      "",
      "Most users set some confs of the first table; those of the second have defaults that rarely need a change."
    ),
    confs("Confs to set", advanced = false),
    confs("Advanced", advanced = true)
  )

  private def confs(title: String, advanced: Boolean): Seq[String] =
    Seq("", s"## $title", "", "| Conf | Default | Allowed | Meaning |", "|---|---|---|---|") ++
      (ZoneMapConf.all ++ parts.flatMap(_.confs)).filter(_.advanced == advanced).map { entry =>
        val default = if (entry.default.isEmpty) "(empty)" else s"`${entry.default}`"
        s"| `${entry.key}` | $default | ${prose(entry.allowed)} | ${prose(entry.doc)} |"
      }

  private val parts = ZoneMapPart.find()

  private def allProcedures: Seq[ZoneMapProcedure] = {
    val process = new SparkProcess(new UpkeepProcess)
    val runs = new QueryRuns(process)
    new Procedures(process).all ++ parts.map(_.start(process, runs)).flatMap(_.procedures)
  }

  private def procedures: String = page(
    Seq(
      "# Procedures",
      "",
      "`CALL zonemap.system.<name>(...)` works with the extension alone. With",
      "`spark.sql.catalog.zonemap=zonemap.spark.ZoneMapCatalog`, SHOW PROCEDURES and DESCRIBE PROCEDURE list them too.",
      "",
      "The examples were run on these tables; ids, times, folders and sizes of stored files in their output are replaced.",
      "",
      "```sql"
    ) ++ ProcedureExamples.setup.map(_ + ";") ++ Seq("```"),
    allProcedures.flatMap { procedure =>
      val example = ProcedureExamples.all(procedure.name())
      Seq(
        "",
        s"## ${procedure.name()}",
        "",
        prose(procedure.description()),
        "",
        "| Argument | Type | Default | Meaning |",
        "|---|---|---|---|") ++
        procedure.inputs.map { p =>
          val default = p.default.fold("required")(d => s"`$d`")
          s"| `${p.name}` | ${typeOf(p.dataType)} | $default | ${prose(p.doc)} |"
        } ++
        Seq("", "| Column of the result | Type | Meaning |", "|---|---|---|") ++
        procedure.output.fields.map(f =>
          s"| `${f.name}` | ${typeOf(f.dataType)} | ${prose(meaningOf(procedure, f))} |") ++
        Seq("", "```sql", s"${example.call};", "```", "", "```", example.output, "```")
    }
  )

  private def meaningOf(procedure: ZoneMapProcedure, column: StructField): String =
    column
      .getComment()
      .getOrElse(
        throw new IllegalStateException(s"Cannot describe ${procedure.name()}: column ${column.name} has no comment."))

  private def rows(catalogue: Seq[(String, String)]): Seq[String] =
    Seq("| Code | When | Example | What to do |", "|---|---|---|---|") ++
      catalogue.map { case (code, when) =>
        s"| `$code` | ${Seq(when, example(code), remedy(code)).map(prose).mkString(" | ")} |"
      }

  /** The query and the confs that cause a code, or the state that does. */
  private def example(code: String): String =
    ReasonExamples.examples
      .find(_.code == code)
      .map { e =>
        val confs = e.confs.map { case (key, value) => s"`SET spark.sql.zonemap.$key=$value`; " }.mkString
        s"$confs`${e.query}`"
      }
      .orElse(ReasonExamples.states.get(code))
      .getOrElse("")
      .replace("|", "\\|")

  private def remedy(code: String): String = {
    val template = "\\{([a-z]+)\\}".r.replaceAllIn(Remedies.template(code), found => s"*${found.group(1)}*")
    val tried = Option.when(Remedies.tried(code))("The statement in `remedy`, if a trial of facts found one.")
    (tried ++ Seq(template).filterNot(t => tried.isDefined && t == Remedies.Nothing)).mkString(" ")
  }

  private def section(title: String, text: String, catalogue: Seq[(String, String)]): Seq[String] =
    Seq("", s"## $title", "", text, "") ++ rows(catalogue)

  private def reasons: String = page(
    Seq(
      "# Codes of EXPLAIN and why_not",
      "",
      "`CALL zonemap.system.why_not(query => '...')` returns the codes of a query, each with its values, a sentence and",
      "what to do. The section \"Zonemap\" of EXPLAIN shows the codes of scans, conditions and operators that prune",
      "nothing. A test runs each example, and causes each of the other states."
    ),
    section(
      "Why Iceberg planned a scan",
      "EXPLAIN and the log line of a scan that Iceberg planned contain one of these codes.",
      StockReason.catalogue ++ SwapReason.catalogue
    ),
    section(
      "Why an aggregate read all planned files",
      "The index planned these scans; EXPLAIN shows the code in the line \"aggregates\".",
      AggregateReason.catalogue
    ),
    section(
      "Why a condition prunes no file",
      "EXPLAIN lists each condition of a scan's filter; the line of a condition that is not used has one of these codes.",
      ConditionReason.catalogue
    ),
    section(
      "What a condition that is used leaves",
      "`why_not` compares the files that all conditions on one column keep with those that the other conditions keep.",
      ConditionEffect.catalogue
    ),
    section(
      "Why a sort, a LIMIT or a join prunes no file",
      "EXPLAIN shows the code in the lines \"top-k bound\", \"limit\" and \"join keys\".",
      OperatorReason.catalogue
    ),
    section("Queries without a scan", "`why_not` has one row.", ReasonExamples.NoScan),
    Seq("", "## The tables of the examples", "", "```sql") ++
      ReasonExamples.setup.map(_ + ";") ++ Seq("```")
  )
}
