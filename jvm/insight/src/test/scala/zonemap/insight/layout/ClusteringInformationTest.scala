// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.layout

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import zonemap.core.io.CorruptIndexException
import zonemap.spark.SharedSession
import zonemap.spark.procedure.{Parameter, ZoneMapProcedure}

/** `clustering_information`: its numbers equal those of a comparison of each pair of files, and its mistakes. */
class ClusteringInformationTest extends SharedSession {

  private def clustering(table: String, columns: String*): Row = {
    val names = if (columns.isEmpty) "" else columns.mkString(", columns => array('", "', '", "')")
    sql(s"CALL zonemap.system.clustering_information(table => '$table'$names)").head()
  }

  private def errorOf(arguments: String): String = {
    val error = intercept[Exception](sql(s"CALL zonemap.system.clustering_information($arguments)").collect())
    Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null).map(_.getMessage).mkString(" | ")
  }

  private def create(name: String, columns: String): String = {
    val table = s"lake.db.$name"
    sql(s"DROP TABLE IF EXISTS $table")
    sql(s"CREATE TABLE $table ($columns) USING iceberg TBLPROPERTIES ('write.distribution-mode' = 'none')")
    table
  }

  /** Files with random values; the seed is part of the data. */
  private lazy val random: String = {
    val table = create("clustered", "id BIGINT, a INT, b STRING, c DOUBLE, d DATE, n INT")
    sql(s"""INSERT INTO $table SELECT id, CAST(id DIV 20 % 5 AS INT), concat('k', pmod(hash(id DIV 3), 1000)),
           |  (id DIV 20) + rand(7) * 8, date_add(DATE'2026-01-01', CAST(id DIV 40 + pmod(hash(id), 4) AS INT)),
           |  IF(id < 100, NULL, CAST(id % 70 AS INT)) FROM RANGE(0, 600, 1, 30)""".stripMargin)
    build(table)
    table
  }

  private type Interval = (Seq[Any], Seq[Any])

  private def compare(left: Any, right: Any): Int =
    (left, right) match {
      case (a: String, b: String)               => a.compareTo(b)
      case (a: java.sql.Date, b: java.sql.Date) => a.compareTo(b)
      case (a: Number, b: Number)               => java.lang.Double.compare(a.doubleValue, b.doubleValue)
      case other                                => throw new IllegalStateException(other.toString)
    }

  private def upTo(left: Seq[Any], right: Seq[Any]): Boolean =
    left.zip(right).map { case (a, b) => compare(a, b) }.find(_ != 0).forall(_ < 0)

  /** The intervals of the files' values, from the rows. */
  private def intervals(columns: Seq[String]): Seq[Interval] = {
    val ends = columns.flatMap(c => Seq(s"min($c)", s"max($c)")).mkString(", ")
    sql(s"SELECT $ends FROM $random GROUP BY _file").collect().toSeq.filterNot(_.anyNull).map { row =>
      (columns.indices.map(i => row.get(2 * i)), columns.indices.map(i => row.get(2 * i + 1)))
    }
  }

  for (columns <- Seq(Seq("id"), Seq("a"), Seq("b"), Seq("c"), Seq("d"), Seq("n"), Seq("a", "b"), Seq("d", "c")))
    test(s"the numbers of ${columns.mkString(", ")} equal those of a comparison of each pair of files") {
      val files = intervals(columns)
      val found = clustering(random, columns: _*)
      def meets(a: Interval, b: Interval) = upTo(a._1, b._2) && upTo(b._1, a._2)
      val overlaps = files.map(file => files.count(meets(file, _)) - 1)
      val depths = files.map { file =>
        files.map(_._1).filter(p => upTo(file._1, p) && upTo(p, file._2)).map(p => files.count(meets((p, p), _))).max
      }
      assert(found.getAs[Long]("total_partition_count") == 30)
      assert(found.getAs[Long]("partitions_of_nulls") == 30 - files.size)
      assert(found.getAs[Long]("partitions_without_bounds") == 0)
      assert(found.getAs[Long]("total_constant_partition_count") == files.count(f => f._1 == f._2))
      assert(math.abs(found.getAs[Double]("average_overlaps") - overlaps.sum.toDouble / files.size) < 1e-3)
      assert(math.abs(found.getAs[Double]("average_depth") - depths.sum.toDouble / files.size) < 1e-3)
      val histogram = depths.groupBy(d => if (d <= 16) d else 32).map { case (d, of) => f"$d%05d" -> of.size.toLong }
      assert(found.getAs[Map[String, Long]]("partition_depth_histogram") == histogram)
      assert(found.getAs[String]("cluster_by_keys") == columns.mkString("LINEAR(", ", ", ")"))
    }

  test("files without bounds and files of nulls are counted and are in no average") {
    val table = create("unbounded", "id BIGINT, c INT")
    sql(s"ALTER TABLE $table SET TBLPROPERTIES ('write.metadata.metrics.column.c' = 'none')")
    sql(s"INSERT INTO $table SELECT id, 1 FROM RANGE(0, 20, 1, 2)")
    sql(s"ALTER TABLE $table SET TBLPROPERTIES ('write.metadata.metrics.column.c' = 'full')")
    sql(s"INSERT INTO $table SELECT id, NULL FROM RANGE(0, 30, 1, 3)")
    sql(s"INSERT INTO $table SELECT id, CAST(id DIV 10 AS INT) FROM RANGE(0, 40, 1, 4)")
    build(table)
    val found = clustering(table, "c")
    assert(found.getAs[Long]("total_partition_count") == 9 && found.getAs[Long]("partitions_without_bounds") == 2)
    assert(found.getAs[Long]("partitions_of_nulls") == 3 && found.getAs[Long]("total_constant_partition_count") == 4)
    assert(found.getAs[Double]("average_overlaps") == 0 && found.getAs[Double]("average_depth") == 1)
    assert(found.getAs[String]("notes") ==
      "2 of 9 files have no bounds of c that describe their rows, and are in no average; 3 of 9 files hold only nulls " +
      "in c, and are in no average")
  }

  test("without columns, the sort order of the table decides") {
    val table = create("ordered", "id BIGINT, s STRING")
    sql(s"INSERT INTO $table VALUES (1, 'a')")
    build(table)
    assert(errorOf(s"table => '$table'").contains("no sort order that begins with a column. Name them, such as "))
    sql(s"ALTER TABLE $table WRITE ORDERED BY s, id")
    assert(clustering(table).getAs[String]("cluster_by_keys") == "LINEAR(s, id)")
  }

  test("mistakes: each message names the table, the reason and the next step") {
    val table = create("plain", "id BIGINT, tags ARRAY<INT>")
    val empty = s"table => '$table', columns => array('id')"
    assert(errorOf(empty).contains(s"Cannot compute the clustering of '$table': the table has no snapshot. Write to"))
    sql(s"INSERT INTO $table VALUES (1, array(1))")
    val uncovered = errorOf(empty)
    assert(
      uncovered.contains("NOT_COVERED") && uncovered.contains(s"CALL zonemap.system.build_index(table => '$table')"))
    build(table)
    sql("CREATE OR REPLACE TEMP VIEW clustering_view AS SELECT 1 AS id")
    val cases = Seq(
      s"table => '$table', columns => array('nope')" -> "'nope' is not a column of the table. Name columns",
      s"table => '$table', columns => array('tags')" -> "'tags' is of type list<int>, which has no bounds.",
      "table => 'lake.db.nope', columns => array('id')" -> "Cannot compute the clustering of 'lake.db.nope'",
      "table => 'clustering_view', columns => array('id')" -> "Cannot compute the clustering of 'clustering_view'",
      s"table => '$table.files', columns => array('id')" -> "it is a metadata table. Name the table itself."
    )
    for ((arguments, message) <- cases) assert(errorOf(arguments).contains(message), errorOf(arguments))
  }

  test("a part of the index that a procedure finds damaged is a sentence with the table and the next step") {
    val reading = ZoneMapProcedure("reading", "", Seq(Parameter.Table), new StructType) { (_, _) =>
      throw new CorruptIndexException("column 1: its checksum does not match")
    }
    val error = intercept[IllegalArgumentException](reading.call(InternalRow(UTF8String.fromString("lake.db.t"))))
    assert(
      error.getMessage == "Cannot call reading for 'lake.db.t': the stored index cannot be used: column 1: its " +
        "checksum does not match. CALL zonemap.system.build_index(table => 'lake.db.t') builds it anew.")
  }
}
