// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.rule

import org.apache.spark.sql.SparkSession

import zonemap.iceberg.upkeep.UpkeepProcess
import zonemap.spark.SharedSession
import zonemap.spark.scan.{SparkProcess, SwapRule}

/** The memory caps that all sessions of a driver share. */
class SharedCapsTest extends SharedSession {
  private val Cap = "spark.sql.zonemap.hot.maxBytes"

  private def within[A](session: SparkSession)(body: => A): A = {
    val before = SparkSession.getActiveSession
    SparkSession.setActiveSession(session)
    try body
    finally before.fold(SparkSession.clearActiveSession())(SparkSession.setActiveSession)
  }

  /** Plans a query in a session that sets this cap, and returns the cap that is then in effect. */
  private def planned(process: SparkProcess, session: SparkSession, table: String, cap: String): Long =
    within(session) {
      session.conf.set(Cap, cap)
      try {
        new SwapRule(process.tables)(session.sql(s"SELECT * FROM $table").queryExecution.analyzed)
        process.iceberg.index.caps.hotMaxBytes
      } finally session.conf.unset(Cap)
    }

  test("SET changes a cap in the session that planned first, and in no other") {
    val table = newTable("caps")
    val process = new SparkProcess(new UpkeepProcess)
    val (first, second) = (spark.newSession(), spark.newSession())
    assert(planned(process, first, table, "64m") == (64L << 20))
    assert(planned(process, second, table, "1m") == (64L << 20))
    assert(planned(process, first, table, "32m") == (32L << 20))
    assert(planned(new SparkProcess(new UpkeepProcess), second, table, "1m") == (1L << 20), "another process")
  }

  test("messages about confs are remembered in a bounded number") {
    val warnings = new SparkProcess(new UpkeepProcess).confWarnings
    assert(
      (1 to 1000).forall(k => warnings.add(s"message $k")) && warnings.size == 256 && !warnings.add("message 1000"))
  }
}
