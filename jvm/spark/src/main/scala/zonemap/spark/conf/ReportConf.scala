// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.conf

/** The conf of how plans are reported; [[ZoneMapConf]] lists it with all others. */
private[conf] object ReportConf {

  val Steps: ConfEntry[Boolean] = ConfEntry(
    ZoneMapConf.Prefix + "steps.enabled",
    "true",
    "true, false",
    "Count the files and bytes before and after each step of a plan, for the text and the metrics of the SQL tab, for " +
      "EXPLAIN and for planned_scans, and whether each condition removes a file, for both texts. Each execution evaluates the " +
      "conditions of its scans twice more to count them: about ten milliseconds for 100,000 files in memory. false: only " +
      "the files of the whole plan are shown.",
    ConfEntry.flag
  )

}
