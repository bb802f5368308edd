// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.runtime

import org.apache.spark.sql.SparkSessionExtensions

import zonemap.spark.procedure.ProcedureRule

/** What the runtime installs in the minor versions of Spark 4. */
private[runtime] object MinorRuntime {

  /** Whether `CALL` finds procedures by the conf of their catalog only. */
  val findsProceduresByConf = false

  /** Whether Spark normalizes each plan that it compares with those of cached data. */
  val normalizesPlansOfCaches = true

  def install(extensions: SparkSessionExtensions): Unit = extensions.injectHintResolutionRule(_ => ProcedureRule)
}
