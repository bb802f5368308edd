// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.conf

/** The confs of pruning by join keys; [[ZoneMapConf]] lists them with all others. */
private[zonemap] object JoinConf {
  import ConfEntry._

  val StaticJoins: ConfEntry[Boolean] = ConfEntry(
    ZoneMapConf.Prefix + "join.static.enabled",
    "true",
    "true, false",
    "While Spark plans a join, prune files of one side by the values that the join key can have in the files planned " +
      "for the other side.",
    flag,
    advanced = true
  )

  val SmallTables: ConfEntry[Boolean] = ConfEntry(
    ZoneMapConf.Prefix + "join.smallTables.enabled",
    "true",
    "true, false",
    "While Spark plans a join, take the values of the join key from the rows of a small table that satisfy its " +
      "filter. The driver reads the columns that it needs once for each snapshot of the table. Used only together " +
      "with join.static.enabled.",
    flag,
    advanced = true
  )

  val SmallTableRows: ConfEntry[Int] = ConfEntry(
    ZoneMapConf.Prefix + "join.smallTables.maxRows",
    "100000",
    "a count, 0 or more",
    "Largest number of rows of a table that join.smallTables.enabled reads.",
    count,
    advanced = true
  )

  val RuntimeJoins: ConfEntry[Boolean] = ConfEntry(
    ZoneMapConf.Prefix + "join.runtime.enabled",
    "true",
    "true, false",
    "While a join runs, prune files of one side by the join keys of the other side once Spark has broadcast it, on " +
      "any column with bounds. Not used together with engines that replace Spark's scans (Comet, Gluten).",
    flag,
    advanced = true
  )
}
