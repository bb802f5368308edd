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
