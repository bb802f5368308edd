package zonemap.spark.conf

import java.nio.file.Paths

import scala.util.Try

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import zonemap.iceberg.settings.HistorySettings

/** The conf of how plans are reported; [[ZoneMapConf]] lists it with all others. */
private[conf] object ReportConf {

  val Stages: ConfEntry[Boolean] = ConfEntry(
    ZoneMapConf.Prefix + "stages.enabled",
    "true",
    "true, false",
    "Count the files and bytes before and after each step of a plan, for the text and the metrics of the SQL tab, for " +
      "EXPLAIN and for history, and whether each condition removes a file, for both texts. Each execution evaluates the " +
      "conditions of its scans twice more to count them: about ten milliseconds for 100,000 files in memory. false: only " +
      "the files of the whole plan are shown.",
    ConfEntry.flag
  )

  val HistoryDir: ConfEntry[Option[String]] = ConfEntry(
    ZoneMapConf.Prefix + "history.dir",
    "",
    "an absolute local folder such as /var/lib/zonemap, or empty",
    "Local folder that keeps the planned scans of the queries, for history in later applications; several drivers may " +
      "share it. Empty: history ends with the driver. A background thread writes, and a query never waits for it. The " +
      "files take about 16 MB at most, the oldest are deleted. They contain conditions with their values, so the " +
      "subfolder zonemap-history-v1 is used only if it belongs to the user of the driver and no other user has access " +
      "to it.",
    text => if (text.isEmpty) Some(None) else Option.when(isAbsolute(text))(Some(text))
  )

  val all: Seq[ConfEntry[_]] = Seq(Stages, HistoryDir)

  def history(conf: SQLConf, options: CaseInsensitiveStringMap): HistorySettings =
    HistoryDir.read(conf, options).fold(HistorySettings()) { dir =>
      HistorySettings(Some(dir), conf.getConfString("spark.app.id", ""))
    }

  private def isAbsolute(text: String): Boolean = Try(Paths.get(text).isAbsolute).getOrElse(false)
}
