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
      read() == Right(
        ZoneMapConf(
          enabled = true,
          expressions = true,
          staticJoins = true,
          runtimeJoins = true,
          topK = true,
          limit = true,
          aggregates = true,
          shadowSample = 0,
          PlannerSettings())))
  }

  private type Pick = ZoneMapConf => Any

  // key below spark.sql.zonemap, text of the value, parsed value, accessor of the setting
  private val values: Seq[(String, String, Any, Pick)] = Seq(
    ("enabled", "false", false, _.enabled),
    ("enabled", "TRUE", true, _.enabled),
    ("enabled", " false ", false, _.enabled),
    ("topk", "false", false, _.topK),
    ("limit", "false", false, _.limit),
    ("aggregates.enabled", "false", false, _.aggregates),
    ("stages.enabled", "true", true, _.planner.countStages),
    ("shadow", "true", true, _.planner.shadow),
    ("shadow.sample", "0", 0.0, _.shadowSample),
    ("shadow.sample", "0.25", 0.25, _.shadowSample),
    ("shadow.sample", "1.0", 1.0, _.shadowSample),
    ("upkeep", "off", UpkeepMode.Off, _.planner.upkeep),
    ("upkeep", "Memory", UpkeepMode.Memory, _.planner.upkeep),
    ("upkeep", "persist", UpkeepMode.Persist, _.planner.upkeep),
    ("upkeep", "auto", UpkeepMode.Auto, _.planner.upkeep),
    ("cover-on-read", "wait", CoverOnRead.Wait, _.planner.coverOnRead),
    ("cover-on-read", "background", CoverOnRead.Background, _.planner.coverOnRead),
    ("store.location", "s3://b/index", Some("s3://b/index"), _.planner.storeLocation),
    ("store.location", "", None, _.planner.storeLocation),
    ("store.location", "/indexes", Some("/indexes"), _.planner.storeLocation),
    ("store.location", "file:/indexes", Some("file:/indexes"), _.planner.storeLocation),
    ("plan.max-unknown-entries", "0", 0, _.planner.maxUnknownEntries),
    ("plan.max-unknown-entries", "70000", 70000, _.planner.maxUnknownEntries),
    ("plan.max-store-wait", "2s", 2000L, _.planner.maxStoreWaitMillis),
    ("hot.max-bytes", "2g", 2L << 30, _.planner.hotMaxBytes),
    ("hot.max-bytes", "1024", 1024L, _.planner.hotMaxBytes),
    ("cold.cache-max-bytes", "1m", 1L << 20, _.planner.cold.memoryMaxBytes),
    ("cold.cache-dir", "/cache", Some("/cache"), _.planner.cold.dir),
    ("cold.cache-dir", "", None, _.planner.cold.dir),
    ("cold.cache-disk-max-bytes", "0", 0L, _.planner.cold.diskMaxBytes)
  )

  for ((key, value, expected, pick) <- values) {
    test(s"session conf $key='$value' is $expected")(
      assert(read(Map(s"spark.sql.zonemap.$key" -> value)).map(pick) == Right(expected)))
    test(s"read option $key='$value' is $expected")(
      assert(read(options = Map(s"zonemap.$key" -> value)).map(pick) == Right(expected)))
  }

  test("a read option wins over the session, the session over the default") {
    val key = "spark.sql.zonemap.plan.max-unknown-entries"
    assert(read(Map(key -> "7")).map(_.planner.maxUnknownEntries) == Right(7))
    assert(
      read(Map(key -> "7"), Map("zonemap.plan.max-unknown-entries" -> "9")).map(_.planner.maxUnknownEntries) == Right(
        9))
    assert(
      read(Map(key -> "broken"), Map("zonemap.plan.max-unknown-entries" -> "9")).isRight,
      "what is overridden is not read")
    assert(read(options = Map("ZONEMAP.Enabled" -> "false")).map(_.enabled) == Right(false), "options ignore case")
  }

  for ((key, value) <- Seq(
      "enabled" -> "yes",
      "shadow" -> "1",
      "shadow.sample" -> "1.5",
      "shadow.sample" -> "-0.1",
      "shadow.sample" -> "NaN",
      "shadow.sample" -> "half",
      "upkeep" -> "sometimes",
      "cover-on-read" -> "never",
      "plan.max-unknown-entries" -> "-1",
      "plan.max-unknown-entries" -> "many",
      "store.location" -> "indexes",
      "store.location" -> "/x/../y",
      "hot.max-bytes" -> "-5",
      "hot.max-bytes" -> "lots"
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
        entry.key.matches("spark\\.sql\\.zonemap\\.[a-z.-]+") && entry.doc
          .endsWith(".") && entry.parse(entry.default).isDefined,
        entry.key)
    }
  }
}
