// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.advice

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import zonemap.spark.conf.{ConfEntry, ZoneMapConf}

/** The confs of facts that choose themselves. */
private[zonemap] object AutoFactsConf {
  import ConfEntry._
  import ZoneMapConf.Prefix

  val Enabled: ConfEntry[Boolean] = ConfEntry(
    Prefix + "upkeep.autoFacts.enabled",
    "false",
    "true, false",
    "Build the facts that advise would choose by the observed scans of this driver, build them for new data files too, " +
      "and drop those that do not prune, in the background. Only tables with a stored index get facts. Facts of " +
      "build_index are never dropped. index_status says what was chosen and why.",
    flag
  )

  val MaxShare: ConfEntry[Double] = ConfEntry(
    Prefix + "upkeep.autoFacts.maxShare",
    "0.01",
    "a share above 0, at most 1",
    "Largest share of the bytes of a table's data files that the chosen facts may take together. Facts of at most 4 KB " +
      "a data file and 1 MB in all are always allowed.",
    share,
    advanced = true
  )

  val MaxSeconds: ConfEntry[Int] = ConfEntry(
    Prefix + "upkeep.autoFacts.maxSecondsPerHour",
    "60",
    "a count, 1 or more",
    "Longest time in an hour in which Spark jobs try and build chosen facts, for all tables of the driver. A build that " +
      "is expected to take longer than what is left is not begun.",
    atLeast(1),
    advanced = true
  )

  val all: Seq[ConfEntry[_]] = Seq(Enabled, MaxShare, MaxSeconds)

  /**
   * The budget in the confs of a session; `None` if its scans choose no facts.
   *
   * @throws MalformedConfException if a value is malformed
   */
  def read(conf: SQLConf): Option[FactBudget] = {
    def value[A](entry: ConfEntry[A]) = entry.read(conf, CaseInsensitiveStringMap.empty())
    Option.when(value(Enabled))(FactBudget(value(MaxShare), value(MaxSeconds)))
  }
}

/**
 * What chosen facts may cost.
 *
 * @param share the largest share of the bytes of a table's data files
 * @param secondsPerHour the longest time in an hour in which Spark jobs run
 */
private[zonemap] final case class FactBudget(share: Double, secondsPerHour: Int)
