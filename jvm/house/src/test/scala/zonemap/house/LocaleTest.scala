// SPDX-License-Identifier: Apache-2.0
package zonemap.house

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}
import java.util.Locale

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.spark.sql.connector.catalog.Identifier

import zonemap.core.fact.FactKind
import zonemap.iceberg.report.{LogFields, PlanReport, StockReason}
import zonemap.ingest.queue.SpoolNames
import zonemap.ingest.table.StateFile
import zonemap.spark.{SharedSession, ZoneMapCatalog}

/** Texts and names of the product are the same in each locale: some locales have other digits, or other small letters. */
class LocaleTest extends SharedSession {
  import LocaleTest._

  private def in[A](tag: String)(body: => A): A = {
    val before = Locale.getDefault
    Locale.setDefault(Locale.forLanguageTag(tag))
    try body
    finally Locale.setDefault(before)
  }

  for (tag <- Seq("ar-EG", "bn-BD", "de-DE", "fa-IR", "tr-TR")) {
    test(s"$tag: names of ingest files are found again, and names in capital letters are known") {
      assert(spark.version.nonEmpty)
      in(tag) {
        val record = SpoolNames.record(SpoolNames.Pending, "lane", 7, "0123456789abcdef")
        assert(SpoolNames.parse(SpoolNames.Pending, record, 0).map(_.seq).contains(7L), record)
        assert(StateFile.isState(StateFile.path(7, "0123456789abcdef")))
        assert(FactKind.ofName("BOUNDS").contains(FactKind.Bounds))
        assert(ZoneMapCatalog.find(Identifier.of(Array("SYSTEM"), "INDEX_STATUS")).isDefined)
      }
    }

    test(s"$tag: lines of the log, histograms and EXPLAIN have ASCII digits and a decimal point") {
      val name = table
      in(tag) {
        val line = LogFields.of(PlanReport.stock("t", 7, StockReason.EmptyTable, 1.5).logFields)
        assert(line.endsWith(" ms=1.5"))
        val clustering =
          sql(s"CALL zonemap.system.clustering_information(table => '$name', columns => array('id'))").head()
        assert(clustering.getAs[Map[String, Long]]("partition_depth_histogram") == Map("00001" -> 5L))
        val section = sql(s"EXPLAIN SELECT * FROM $name WHERE id = 7").head().getString(0)
        assert(section.linesIterator.exists(_.matches("  planned in [0-9]+\\.[0-9] ms")), section)
      }
    }
  }

  private lazy val table: String = {
    val name = newTable("locales")
    build(name)
    name
  }

  test("no source changes letters or formats a number by the locale of the JVM") {
    val found = for {
      module <- Seq("core", "iceberg", "ingest", "spark")
      file <- sources(Paths.get("jvm", module, "src", "main"))
      line <- Files.readString(file, UTF_8).linesIterator if dependsOnLocale(line)
    } yield s"$file: ${line.trim}"
    assert(found.isEmpty, found.mkString("\n", "\n", "\n"))
  }

  test("a line that depends on the locale is found") {
    val dependent =
      Seq("text.toLowerCase", "text.toUpperCase()", "f\"$n%020d\"", "f\"ms=$ms%.1f\"", "String.format(\"%d\", n)")
    val independent = Seq("text.toLowerCase(Locale.ROOT)", "f\"$n%08x\"", "\"%d\".formatLocal(Locale.ROOT, n)")
    assert(dependent.forall(dependsOnLocale) && !independent.exists(dependsOnLocale))
  }
}

private[house] object LocaleTest {

  private val OfLocale = Seq(
    "\\.to(Lower|Upper)Case\\b(?!\\(Locale\\.ROOT\\))".r,
    "(?<!\\w)f\".*%[-+ 0-9,.]*[dfeg]".r,
    "String\\.format\\((?!Locale\\.ROOT)".r,
    "\"\\.format\\(".r)

  private def dependsOnLocale(line: String): Boolean = OfLocale.exists(_.findFirstIn(line).isDefined)

  private def sources(folder: Path): Seq[Path] =
    Using.resource(Files.walk(folder))(_.iterator().asScala.filter(Files.isRegularFile(_)).toVector)
}
