// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.rule

import java.time.ZoneId

import scala.util.{Failure, Success, Try}

import zonemap.core.{Rng, Seeded}
import zonemap.spark.SharedSession
import zonemap.spark.expression.RandomExpressions

/**
 * Random conditions on a table of random files return the same rows as Spark on an in-memory copy of the table.
 *
 * Scans planned by Iceberg are not a reference, because Iceberg's own filters lose rows with NaN.
 */
class ExpressionDifferentialTest extends SharedSession with Seeded {
  private val Conditions = 120

  private def outcome(text: String): Try[Seq[String]] = Try(rows(sql(text)))

  private def table(zone: String, rng: Rng): String = {
    val name = "lake.db.random_functions"
    val schema = RandomExpressions.schema
    sql(s"DROP TABLE IF EXISTS $name")
    sql(s"CREATE TABLE $name (${schema.fields.map(f => s"${f.name} ${f.dataType.sql}").mkString(", ")}) USING iceberg")
    val random = new RandomExpressions(rng, ZoneId.of(zone))
    var files = 0
    while (files < 25) {
      val values = Seq.fill(1 + rng.int(3))(
        schema.fields.map(f => RandomExpressions.sql(random.value(f), f.dataType)).mkString("(", ", ", ")"))
      // Times far from the present have no SQL literal.
      if (Try(sql(s"INSERT INTO $name VALUES ${values.mkString(", ")}")).isSuccess) files += 1
    }
    build(name)
    name
  }

  for ((zone, ansi) <- Seq("America/Havana" -> true, "Pacific/Apia" -> false))
    test(s"rows are the same, $zone, ANSI $ansi") {
      withConf(
        "spark.sql.session.timeZone" -> zone,
        "spark.sql.ansi.enabled" -> ansi.toString,
        "spark.sql.datetime.java8API.enabled" -> "true") {
        rounds(1) { rng =>
          val t = table(zone, rng)
          val monotone = new RandomExpressions(rng, ZoneId.of(zone))
          val any = new RandomExpressions(rng, ZoneId.of(zone), others = true)
          val all = spark.createDataFrame(sql(s"SELECT * FROM $t").collectAsList(), RandomExpressions.schema)
          all.createOrReplaceTempView("truth")
          // Spark on in-memory rows and Spark on stock Iceberg each have their own faults (NaN in Iceberg's bounds,
          // local times that a zone skips). Therefore a row counts as lost only if both return it and the index does
          // not, and as extra only if the index alone returns it.
          var answered = 0
          (0 until Conditions).foreach { _ =>
            val condition = rng.pick(Seq(monotone, any)).condition(1) { (expression, rng) =>
              Try(sql(s"SELECT $expression AS x FROM truth").collect().map(_.get(0)).filter(_ != null)).toOption
                .filter(_.nonEmpty)
                .flatMap(found =>
                  Try(org.apache.spark.sql.catalyst.expressions.Literal(rng.pick(found.toSeq)).sql).toOption)
            }
            val text = s"SELECT * FROM $t WHERE $condition"
            (outcome(s"SELECT * FROM truth WHERE $condition"), outcome(text)) match {
              case (Success(expected), Success(actual)) =>
                answered += 1
                if (expected.diff(actual).nonEmpty || actual.diff(expected).nonEmpty) {
                  val stock = withConf("spark.sql.zonemap.enabled" -> "false")(outcome(text)).getOrElse(Nil)
                  val lost = expected.diff(actual).filter(stock.contains)
                  val extra = actual.diff(expected).filterNot(stock.contains)
                  assert((lost, extra) == ((Nil, Nil)), s"(lost, extra) $text")
                }
              case (Failure(_), _) => () // the failing row may be in a file that another condition prunes
              case (Success(_), Failure(e)) =>
                val stock = withConf("spark.sql.zonemap.enabled" -> "false")(outcome(text))
                if (stock.isSuccess) fail(s"$text fails with the extension only", e)
            }
          }
          assert(answered > Conditions / 3, s"$answered of $Conditions conditions were answered")
          println(s"ExpressionDifferentialTest: $answered of $Conditions conditions compared")
        }
      }
    }
}
