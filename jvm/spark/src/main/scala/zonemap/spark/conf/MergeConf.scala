// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.conf

import java.util.Locale

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import zonemap.iceberg.settings.MergePolicy

/** The confs of merging segments; [[ZoneMapConf]] lists them with all others. */
private[conf] object MergeConf {
  import ConfEntry._

  val Policy: ConfEntry[String] = ConfEntry(
    ZoneMapConf.Prefix + "merge.policy",
    "probabilistic",
    "probabilistic, deterministic, off",
    "When the runs (segments of single commits) of a snapshot are merged into segments of hours and days, always in " +
      "the background. probabilistic: at each commit with p = min(1, runs / merge.limit), from " +
      s"${MergePolicy.DefaultMinRuns} runs on, and at every merge.forcedEvery-th. deterministic: at " +
      s"${MergePolicy.DefaultMinRuns} runs. off: at merge.hardCap only.",
    text => Some(text.toLowerCase(Locale.ROOT)).filter(Set("probabilistic", "deterministic", "off")),
    advanced = true
  )

  val Limit: ConfEntry[Int] = ConfEntry(
    ZoneMapConf.Prefix + "merge.limit",
    "1000",
    "a count, 1 or more",
    "Number of runs at which the probabilistic policy merges with certainty.",
    atLeast(1),
    advanced = true
  )

  val ForcedEvery: ConfEntry[Int] = ConfEntry(
    ZoneMapConf.Prefix + "merge.forcedEvery",
    "100",
    "a count, 1 or more",
    "The probabilistic policy merges at the first commit in each interval of this many sequence numbers, whatever " +
      "the draw.",
    atLeast(1),
    advanced = true
  )

  val HardCap: ConfEntry[Int] = ConfEntry(
    ZoneMapConf.Prefix + "merge.hardCap",
    "32",
    "a count, 2 or more",
    "Merge as soon as a table has this many runs (segments of single commits), whatever the policy; this limits the " +
      "number of segments that a plan opens.",
    atLeast(2),
    advanced = true
  )

  def policy(conf: SQLConf, options: CaseInsensitiveStringMap): MergePolicy = {
    val hardCap = HardCap.read(conf, options)
    val limit = Limit.read(conf, options)
    val forcedEvery = ForcedEvery.read(conf, options)
    Policy.read(conf, options) match {
      case "deterministic" => MergePolicy.Deterministic(hardCap = hardCap)
      case "off"           => MergePolicy.Off(hardCap)
      case _               => MergePolicy.Probabilistic(limit, forcedEvery, hardCap = hardCap)
    }
  }
}
