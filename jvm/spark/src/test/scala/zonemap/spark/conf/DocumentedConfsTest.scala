// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.conf

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import zonemap.iceberg.settings.PlannerSettings
import zonemap.spark.{SharedSession, ZoneMapRuntime}

/** Spark knows the confs, and they work as if it did not. */
class DocumentedConfsTest extends SharedSession {

  private def listed: Map[String, (String, String)] =
    sql("SET -v").collect().map(row => row.getString(0) -> (row.getString(1) -> row.getString(2))).toMap

  test("SET -v lists every conf with its value and its documentation") {
    ZoneMapConf.all.foreach { entry =>
      val (value, doc) = listed.getOrElse(entry.key, fail(s"${entry.key} is not listed"))
      assert(value == spark.conf.get(entry.key), entry.key)
      assert(doc == s"${entry.doc} Allowed: ${entry.allowed}.", entry.key)
    }
    withConf(ZoneMapConf.TopK.key -> "false")(assert(listed(ZoneMapConf.TopK.key)._1 == "false"))
    assert(listed(ZoneMapConf.TopK.key)._1 == "true")
  }

  test("an unset conf is not set by its registration, and has its default") {
    val conf = new SQLConf
    assert(conf.getAllConfs.isEmpty)
    ZoneMapConf.all.foreach { entry =>
      assert(!conf.contains(entry.key), entry.key)
      assert(conf.getConfString(entry.key, "given") == "given", entry.key)
      assert(conf.getConfString(entry.key) == entry.default, entry.key)
    }
    assert(ZoneMapConf.read(conf, CaseInsensitiveStringMap.empty()).map(_.planner) == Right(PlannerSettings()))
    assert(conf.getAllConfs.isEmpty)
  }

  test("a malformed value can be set, and fails as a value of this extension") {
    withConf(ZoneMapConf.Upkeep.key -> "sometimes") {
      val read = ZoneMapConf.read(spark.sessionState.conf, CaseInsensitiveStringMap.empty())
      assert(read.left.map(_.getMessage).left.exists(_.contains("spark.sql.zonemap.upkeep.mode='sometimes'")))
    }
  }

  test("SET refuses a malformed value, and takes an allowed one and any value of another conf") {
    val before = spark.conf.get(ZoneMapConf.Upkeep.key)
    val refused = intercept[MalformedConfException](sql(s"SET ${ZoneMapConf.Upkeep.key}=sometimes"))
    assert(refused.getMessage.startsWith(s"Cannot use ${ZoneMapConf.Upkeep.key}='sometimes': allowed are "))
    assert(spark.conf.get(ZoneMapConf.Upkeep.key) == before)
    withConf(ZoneMapConf.Upkeep.key -> before, "nobody.s.conf" -> "x") {
      sql(s"SET ${ZoneMapConf.Upkeep.key}=memory")
      assert(spark.conf.get(ZoneMapConf.Upkeep.key) == "memory")
      sql("SET nobody.s.conf=sometimes")
    }
  }

  test("a second installation in the same JVM registers nothing") {
    assert(
      ZoneMapRuntime.active.nonEmpty && spark.sql("SET -v").count() > 0 && DocumentedConfs
        .unknown(runtime.confs)
        .isEmpty)
    DocumentedConfs.register(runtime.confs)
    val keys = sql("SET -v").collect().map(_.getString(0)).filter(_.startsWith("spark.sql.zonemap."))
    assert(keys.sorted.toSeq == runtime.confs.map(_.key).sorted)
  }

  for ((kind, made) <- Seq("TEMPORARY VIEW" -> "documented_temporary", "VIEW" -> "default.documented_stored"))
    test(s"the session that reads a $kind switches the extension, not the session that made it") {
      val t = newTable(made.replace('.', '_'))
      build(t)
      for ((creating, reading) <- Seq("false" -> "true", "true" -> "false")) {
        withConf(ZoneMapConf.Enabled.key -> creating) {
          sql(s"CREATE OR REPLACE $kind $made AS SELECT * FROM $t WHERE id < 10")
        }
        val view = spark.sessionState.sqlParser.parseTableIdentifier(made)
        val stored = spark.sessionState.catalog.getTempViewOrPermanentTableMetadata(view).viewSQLConfigs
        assert(stored.get(ZoneMapConf.Enabled.key).contains(creating), "Spark stores the confs that it knows")
        withConf(ZoneMapConf.Enabled.key -> reading) {
          assert((planned(assert(sql(s"SELECT * FROM $made").count() == 10)) > 0) == reading.toBoolean, reading)
        }
      }
      sql(s"DROP VIEW $made")
    }
}
