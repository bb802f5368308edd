// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.conf

import zonemap.iceberg.testing.LoggedWarnings
import zonemap.spark.SharedSession

/** Keys that begin like a conf of zonemap and are none. */
class UnknownConfsTest extends SharedSession {

  private def warnings(keys: String*)(run: => Unit): Seq[String] =
    LoggedWarnings
      .of("zonemap")(withConf(keys.map(key => s"spark.sql.zonemap.$key" -> "true"): _*)(run))
      .filter(_.contains("Cannot use the conf"))

  private def query(): Unit = sql("SELECT 1").collect(): Unit

  test("an unknown key is logged once, with the nearest known key") {
    val near = Seq(
      "shadow.smaple" -> "shadow.sample",
      "topk" -> "topK.enabled",
      "upkep" -> "upkeep.mode",
      "hot.max-bytes" -> "hot.maxBytes",
      "join.static" -> "join.static.enabled",
      "expression.enabled" -> "expressions.enabled"
    )
    val found = warnings(near.map(_._1): _*) {
      query()
      query()
    }
    assert(found.size == near.size, found)
    for ((key, nearest) <- near)
      assert(found.exists(m => m.contains(s"'spark.sql.zonemap.$key'") && m.contains(s"'spark.sql.zonemap.$nearest'")))
    assert(warnings(near.head._1)(query()).isEmpty, "logged before")
  }

  test("an unknown read option is logged once, with the nearest known one; known options and other options are not") {
    val t = newTable("unknown_options")
    def read(option: String): Seq[String] =
      LoggedWarnings
        .of("zonemap")(spark.read.option(option, "true").table(t).where("id = 3").collect(): Unit)
        .filter(_.contains("read option"))
    val found = read("zonemap.topk.enable")
    assert(
      found.size == 1 && found.head.contains("'zonemap.topk.enable'") && found.head.contains("'zonemap.topK.enabled'"))
    assert(read("zonemap.topk.enable").isEmpty, "logged before")
    assert(read("zonemap.topK.enabled").isEmpty && read("ZONEMAP.ENABLED").isEmpty && read("nobody.s.option").isEmpty)
  }

  test("a known key is not logged, and SET of an unknown one is") {
    assert(warnings("enabled", "shadow.enabled")(query()).isEmpty)
    val set = LoggedWarnings.of("zonemap") {
      sql("SET spark.sql.zonemap.limits=false")
      query()
    }
    spark.conf.unset("spark.sql.zonemap.limits")
    assert(set.count(_.contains("'spark.sql.zonemap.limit.enabled'")) == 1, set)
  }
}
