// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.rule

/**
 * Conditions that are evaluated on the single value of a column in a file: the number of files planned, and the same
 * rows as without the extension.
 */
class SingleValuesTest extends PlannedFiles {
  private val Files = 12

  /**
   * Creates twelve files of three rows. File k (0 to 11) has the ids 10k to 10k + 2, the region k modulo 4 of eu, us,
   * apac and Eu, status k, the k-th day from Monday, January 6th 2025, hour k of one day, and price 1.5 k. The price is
   * NaN in the last file, the region is null in one row of file 3, and the note is null in all rows of files 10 and 11.
   */
  private lazy val table: String = {
    val name = "lake.db.singles"
    sql(s"DROP TABLE IF EXISTS $name")
    sql(
      s"CREATE TABLE $name (id INT, region STRING, status INT, day DATE, ts TIMESTAMP, price DOUBLE, note STRING) USING iceberg")
    (0 until Files).foreach { k =>
      val price = if (k == 11) "double('NaN')" else s"${1.5 * k}D"
      sql(s"""INSERT INTO $name SELECT /*+ COALESCE(1) */ CAST(id AS INT),
             |  ${if (k == 3) "IF(id = 31, NULL, 'Eu')" else s"'${Seq("eu", "us", "apac", "Eu")(k % 4)}'"},
             |  $k, DATE '2025-01-06' + $k, timestamp_seconds(1736467200 + $k * 3600), $price,
             |  ${if (k >= 10) "CAST(NULL AS STRING)" else "concat('n', id)"}
             |FROM RANGE(${10 * k}, ${10 * k + 3})""".stripMargin)
    }
    build(name)
    name
  }

  /** Each condition with the number of the twelve files that it retains. */
  private val cases: Seq[(String, Int)] = Seq(
    "status % 2 = 1" -> 6,
    "upper(region) = 'EU'" -> 6,
    "md5(region) = md5('us')" -> 3,
    "region LIKE 'e_'" -> 3,
    "region LIKE '%u'" -> 6,
    "NOT (region LIKE '%u')" -> 6,
    "greatest(status, 3) = 3" -> 4,
    "length(region || status) > 5" -> 1,
    "region || '-' || status IN ('us-1', 'us-2')" -> 1,
    "coalesce(region, 'none') LIKE '%one'" -> 1,
    "hour(ts) = 3" -> 1,
    "dayofweek(day) = 2" -> 2,
    "status <> 0 AND 10 / status > 4" -> 2,
    "price * price > 100" -> 5, // NaN is the greatest
    "isnan(sqrt(price - 6))" -> 5,
    "length(note) < 0" -> 10,
    "hash(id) = 3" -> 12,
    "upper(region) = 'EU' AND id < 50" -> 3,
    "upper(region) = 'EU' OR id = 11" -> 7,
    "if(upper(region) = 'EU', status, 100) < 4" -> 2,
    "region <=> note" -> 0
  )

  for ((ansi, zone) <- Seq(true -> "UTC", false -> "Etc/GMT"))
    test(s"files kept: ANSI $ansi") {
      withConf("spark.sql.ansi.enabled" -> ansi.toString, "spark.sql.session.timeZone" -> zone) {
        assert(wrong(table, cases).isEmpty)
      }
    }

  test("local time is that of the session") {
    def hour(zone: String) =
      withConf("spark.sql.session.timeZone" -> zone)(checked(s"SELECT id FROM $table WHERE hour(ts) = 5"))
    assert(hour("UTC") == Seq(1L) && hour("+05:30") == Seq(1L) && hour("-03:00") == Seq(1L))
    assert(hour("+07:00") == Seq(0L))
  }

  test("an error that a row has is met, and reported") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      val error = intercept[Exception](sql(s"SELECT id FROM $table WHERE 10 / status > 5").collect())
      assert(error.toString.contains("DIVIDE_BY_ZERO"))
      assert(checked(s"SELECT id FROM $table WHERE try_divide(10, status) > 5") == Seq(1L))
    }
  }

  test("functions of users, plans within plans and lambdas are not evaluated; switched off nothing is") {
    spark.udf.register("plus_one", (x: Int) => x + 1)
    assert(checked(s"SELECT id FROM $table WHERE plus_one(status) = 3") == Seq(12L))
    assert(checked(s"SELECT id FROM $table WHERE exists(array(status), x -> x = 3)") == Seq(12L))
    assert(checked(s"SELECT id FROM $table WHERE status % 5 = (SELECT max(id) - 121 FROM RANGE(124))") == Seq(12L))
    withConf("spark.sql.zonemap.expressions.enabled" -> "false") {
      assert(checked(s"SELECT id FROM $table WHERE status % 2 = 1") == Seq(12L))
    }
  }

  test("a condition that no file can answer leaves the plan as it is") {
    sql(s"SELECT id FROM $table WHERE id < 0 AND status < 0").collect()
    def isOther(condition: String) =
      tables(sql(s"SELECT id FROM $table WHERE $condition")).exists(_.name().contains(" zonemap["))
    assert(!isOther("hash(id) % 7 = 3") && isOther("status % 7 = 3"))
  }

  test("an identity partition whose values are longer than bounds") {
    val t = "lake.db.single_partitions"
    sql(s"DROP TABLE IF EXISTS $t")
    sql(s"CREATE TABLE $t (id INT, place STRING, other STRING) USING iceberg PARTITIONED BY (place)")
    sql(s"""INSERT INTO $t SELECT /*+ COALESCE(1) */ CAST(id AS INT), concat('a place with a long name ', id % 4),
           |  concat('a place with a long name ', id % 4) FROM RANGE(40)""".stripMargin)
    sql(s"INSERT INTO $t VALUES (41, NULL, NULL)")
    build(t)
    assert(
      wrong(
        t,
        Seq(
          "place LIKE '%e 2'" -> 1,
          "length(place) = 7" -> 0,
          "other LIKE '%e 2'" -> 4,
          "reverse(coalesce(place, 'x')) = 'x'" -> 1)).isEmpty)
  }

  test("a set of values is asked value by value") {
    val t = "lake.db.single_sets"
    sql(s"DROP TABLE IF EXISTS $t")
    sql(s"CREATE TABLE $t (id INT, code INT, m MAP<STRING, STRING>) USING iceberg")
    (0 until 6).foreach { k =>
      sql(
        s"INSERT INTO $t SELECT /*+ COALESCE(1) */ CAST(id AS INT), CAST(IF(id % 2 = 0, -1000, 1000) + $k AS INT), " +
          s"map('kind', concat('k', $k, '-', id % 2)) FROM RANGE(${k * 10}, ${k * 10 + 10})")
    }
    build(t)
    val conditions = Seq("code % 100 = 3" -> 1, "m['kind'] LIKE 'K_-%'" -> 0, "upper(m['kind']) LIKE '%4-1'" -> 1)
    assert(wrong(t, conditions).map(_._3) == Seq.fill(3)(Seq(6L)))
    sql(s"CALL zonemap.system.build_index(table => '$t', facts => 'values(code, m[''kind''])')").collect()
    assert(wrong(t, conditions).isEmpty)
  }
}
