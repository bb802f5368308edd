// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.conf

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.settings.{CoverOnRead, PlannerSettings, UpkeepMode}

/** The sources of a setting, and its valid values. */
class ZoneMapConfTest extends AnyFunSuite {

  private def read(session: Map[String, String] = Map.empty, options: Map[String, String] = Map.empty) = {
    val conf = new SQLConf
    session.foreach { case (key, value) => conf.setConfString(key, value) }
    ZoneMapConf.read(conf, new CaseInsensitiveStringMap(options.asJava))
  }

  test("nothing set: the defaults of the planner") {
    assert(
      read() == Right(ZoneMapConf(
        enabled = true,
        expressions = true,
        staticJoins = true,
        smallTables = true,
        smallTableRows = 100000,
        runtimeJoins = true,
        topK = true,
        limit = true,
        aggregates = true,
        rowLevel = true,
        metadataTables = true,
        shadowSample = 0,
        PlannerSettings()
      )))
  }

  private type Pick = ZoneMapConf => Any

  // key below spark.sql.zonemap, text of the value, parsed value, accessor of the setting
  private val values: Seq[(String, String, Any, Pick)] = Seq(
    ("enabled", "false", false, _.enabled),
    ("enabled", "TRUE", true, _.enabled),
    ("enabled", " false ", false, _.enabled),
    ("topK.enabled", "false", false, _.topK),
    ("limit.enabled", "false", false, _.limit),
    ("aggregates.enabled", "false", false, _.aggregates),
    ("rowLevel.enabled", "false", false, _.rowLevel),
    ("metadataTables.enabled", "false", false, _.metadataTables),
    ("steps.enabled", "true", true, _.planner.countSteps),
    ("shadow.enabled", "true", true, _.planner.shadow),
    ("shadow.sample", "0", 0.0, _.shadowSample),
    ("shadow.sample", "0.25", 0.25, _.shadowSample),
    ("shadow.sample", "1.0", 1.0, _.shadowSample),
    ("upkeep.mode", "off", UpkeepMode.Off, _.planner.upkeep),
    ("upkeep.mode", "Memory", UpkeepMode.Memory, _.planner.upkeep),
    ("upkeep.mode", "persist", UpkeepMode.Persist, _.planner.upkeep),
    ("upkeep.mode", "auto", UpkeepMode.Auto, _.planner.upkeep),
    ("coverOnRead", "wait", CoverOnRead.Wait, _.planner.coverOnRead),
    ("coverOnRead", "background", CoverOnRead.Background, _.planner.coverOnRead),
    ("store.location", "s3://b/index", Some("s3://b/index"), _.planner.storeLocation),
    ("store.location", "", None, _.planner.storeLocation),
    ("store.location", "/indexes", Some("/indexes"), _.planner.storeLocation),
    ("store.location", "file:/indexes", Some("file:/indexes"), _.planner.storeLocation),
    ("plan.maxUnknownEntries", "0", 0, _.planner.maxUnknownEntries),
    ("plan.maxUnknownEntries", "70000", 70000, _.planner.maxUnknownEntries),
    ("plan.maxStoreWait", "2s", 2000L, _.planner.maxStoreWaitMillis),
    ("hot.maxBytes", "2g", 2L << 30, _.planner.hotMaxBytes),
    ("hot.maxBytes", "1024", 1024L, _.planner.hotMaxBytes),
    ("cold.cacheMaxBytes", "1m", 1L << 20, _.planner.cold.memoryMaxBytes),
    ("cold.cacheDir", "/cache", Some("/cache"), _.planner.cold.dir),
    ("cold.cacheDir", "", None, _.planner.cold.dir),
    ("cold.cacheDiskMaxBytes", "0", 0L, _.planner.cold.diskMaxBytes)
  )

  for ((key, value, expected, pick) <- values) {
    test(s"session conf $key='$value' is $expected")(
      assert(read(Map(s"spark.sql.zonemap.$key" -> value)).map(pick) == Right(expected)))
    test(s"read option $key='$value' is $expected")(
      assert(read(options = Map(s"zonemap.$key" -> value)).map(pick) == Right(expected)))
  }

  test("a read option wins over the session, the session over the default") {
    val key = "spark.sql.zonemap.plan.maxUnknownEntries"
    assert(read(Map(key -> "7")).map(_.planner.maxUnknownEntries) == Right(7))
    assert(
      read(Map(key -> "7"), Map("zonemap.plan.maxUnknownEntries" -> "9")).map(_.planner.maxUnknownEntries) == Right(9))
    assert(
      read(Map(key -> "broken"), Map("zonemap.plan.maxUnknownEntries" -> "9")).isRight,
      "what is overridden is not read")
    assert(read(options = Map("ZONEMAP.Enabled" -> "false")).map(_.enabled) == Right(false), "options ignore case")
  }

  for ((key, value) <- Seq(
      "enabled" -> "yes",
      "shadow.enabled" -> "1",
      "shadow.sample" -> "1.5",
      "shadow.sample" -> "-0.1",
      "shadow.sample" -> "NaN",
      "shadow.sample" -> "half",
      "upkeep.mode" -> "sometimes",
      "coverOnRead" -> "never",
      "plan.maxUnknownEntries" -> "-1",
      "plan.maxUnknownEntries" -> "many",
      "store.location" -> "indexes",
      "store.location" -> "/x/../y",
      "hot.maxBytes" -> "-5",
      "hot.maxBytes" -> "lots"
    ))
    test(s"malformed $key='$value': the message names key, value and what is allowed") {
      val full = s"spark.sql.zonemap.$key"
      val entry = ZoneMapConf.all.find(_.key == full).get
      for (error <- Seq(read(Map(full -> value)), read(options = Map(s"zonemap.$key" -> value)))
          .map(_.swap.toOption.get))
        assert(error.getMessage == s"Cannot use $full='$value': allowed are ${entry.allowed}.")
    }

  test("every conf has one key, a doc and a default that parses") {
    assert(ZoneMapConf.all.map(_.key).distinct.size == ZoneMapConf.all.size)
    ZoneMapConf.all.foreach { entry =>
      assert(
        entry.key.matches("spark\\.sql\\.zonemap\\.[a-zA-Z.]+") && entry.doc
          .endsWith(".") && entry.parse(entry.default).isDefined,
        entry.key)
    }
  }
}
