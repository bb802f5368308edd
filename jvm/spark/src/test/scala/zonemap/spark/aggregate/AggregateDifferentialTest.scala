// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.aggregate

import zonemap.core.{Rng, Seeded}

/**
 * Random aggregates under random filters: the result is the same with and without aggregates answered from the index.
 */
class AggregateDifferentialTest extends AggregateTables with Seeded {
  private val Queries = 6
  private val Branches = 8

  private def leaf(rng: Rng): String = {
    val id = rng.int(80)
    val op = rng.pick(Seq("<", "<=", ">", ">=", "=", "<>"))
    rng.pick(
      Seq(
        s"id $op $id",
        s"id >= ${id / 2}",
        s"id < ${40 + id / 2}",
        s"n $op $id",
        "n IS NULL",
        "n IS NOT NULL",
        s"d $op ${rng.int(50) - 5}",
        s"f $op ${rng.int(60) - 25}",
        s"dt $op DATE'2026-01-01' + $id",
        s"ts $op timestamp_seconds(${1767225600L + id * 3600L})",
        s"m $op ${(id - 40) / 4.0}",
        "b",
        "NOT b",
        s"g $op '${id / 20}'",
        s"s LIKE '000${id / 10}%'",
        s"p $op ${id / 30}",
        s"p IN (0, ${id / 30})",
        s"id % 2 = ${id % 2}",
        s"id + 1 > $id"
      ))
  }

  private def condition(rng: Rng): String =
    rng.int(6) match {
      case 0     => "id >= 0"
      case 1 | 2 => s"${leaf(rng)} AND ${leaf(rng)}"
      case 3     => s"(${leaf(rng)} OR ${leaf(rng)})"
      case 4     => s"NOT (${leaf(rng)}) AND ${leaf(rng)}"
      case _     => leaf(rng)
    }

  private def aggregate(rng: Rng): String = {
    val column = rng.pick(Seq("id", "n", "d", "f", "dt", "ts", "m", "b", "id", "n", "s", "g", "p"))
    rng.pick(Seq("count(*)", s"count($column)", s"min($column)", s"max($column)", "count(1) * 2", "max(id) - min(id)"))
  }

  private val Keys =
    Seq("p", "g", "b", "p", "n", "dt", "date(ts)", "date_trunc('day', ts)", "id DIV 10", "year(dt)", "n - 3", "5 - p")

  /** One aggregate query with rows of texts, so that a UNION can combine many of them into one query. */
  private def branch(table: String, number: Int, rng: Rng): String = {
    val keys = Seq.fill(rng.int(3))(rng.pick(Keys)).distinct
    val results = Seq.fill(1 + rng.int(3))(aggregate(rng))
    val all = (keys ++ results).map(e => s"coalesce(CAST($e AS STRING), 'NULL')")
    val groups = if (keys.isEmpty) "" else s"GROUP BY ${keys.mkString(", ")}"
    s"SELECT $number AS branch, concat_ws('|', ${all.mkString(", ")}) AS result FROM $table WHERE ${condition(rng)} $groups"
  }

  test("rows are the same, and a good share of the aggregates is answered") {
    val plain = make("random_aggregates")
    val deleted = make("random_aggregates_deleted", partitioned = true, deletes = "merge-on-read")
    sql(s"DELETE FROM $deleted WHERE id IN (3, 27, 28, 55)")
    build(deleted)
    var found = 0
    rounds(Queries) { rng =>
      val table = rng.pick(Seq(plain, deleted))
      val query = (0 until Branches).map(branch(table, _, rng)).mkString(" UNION ALL ")
      val frame = sql(query)
      found += answered(frame)
      val (with_, without) = (rows(frame), withoutAnswers(rows(sql(query))))
      assert(
        with_ == without,
        s"\nonly with answers: ${with_.diff(without)}\nonly without: ${without.diff(with_)}\n" +
          query.replace(" UNION ALL ", "\n")): Unit
    }
    println(s"AggregateDifferentialTest: $found of ${Queries * Branches} aggregates answered")
    assert(found > Queries * Branches / 6, s"$found answered")
  }
}
