// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.runtime

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.internal.SQLConf

/** What the runtime installs in Spark 3.5, where rules of Iceberg's extensions resolve and plan `CALL`. */
private[runtime] object MinorRuntime {

  /** Whether `CALL` finds procedures by the conf of their catalog only. */
  val findsProceduresByConf = true

  /**
   * Whether Spark normalizes each plan that it compares with those of cached data. This Spark compares the table of a
   * write, and the plan of `unpersist`, as the analyzer left them: it would not find a plan whose tables were swapped.
   */
  val normalizesPlansOfCaches = false

  def install(extensions: SparkSessionExtensions): Unit = {
    extensions.injectParser((_, others) => new CallParser(others))
    extensions.injectResolutionRule(_ => ExplainRule)
  }
}

/** The provider of the section of EXPLAIN, which Spark 3.5 does not have: [[ExplainRule]] adds the section. */
private[runtime] object ExplainProvider {
  def register(conf: SQLConf): Unit = ()
}
