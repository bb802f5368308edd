// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.conf

/** The conf of how plans are reported; [[ZoneMapConf]] lists it with all others. */
private[conf] object ReportConf {

  val Steps: ConfEntry[Boolean] = ConfEntry(
    ZoneMapConf.Prefix + "steps.enabled",
    "false",
    "true, false",
    "true: each execution of a query counts the files and bytes before and after each step of its plan, for the text and " +
      "the metrics of the SQL tab and for planned_scans, and whether each condition removes a file, for the text. It evaluates " +
      "the conditions of its scans twice more: one to five milliseconds for 100,000 files in memory. false: executions " +
      "show only the files of the whole plan, and those that join keys prune or the index answers. EXPLAIN and why_not " +
      "always count.",
    ConfEntry.flag
  )

}
