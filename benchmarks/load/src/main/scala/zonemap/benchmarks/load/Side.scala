// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.load

import java.util.concurrent.ThreadLocalRandom
import java.util.concurrent.atomic.{AtomicInteger, LongAdder}

import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

/**
 * One side of the comparison: Iceberg alone, or the index. Each thread has a session of its own.
 *
 * @param expected the rows of each query
 */
private[load] final class Side(
    spark: SparkSession,
    tables: LoadTables,
    expected: IndexedSeq[Set[Row]],
    isIndex: Boolean) {
  private val planning, queries, first, again = new Samples
  private val wrong = new LongAdder
  private val seconds = new LongAdder

  private def random(bound: Int): Int = ThreadLocalRandom.current().nextInt(bound)

  private def open(): SparkSession = Side.session(spark, isIndex)

  /** Plans each table once, so that code is compiled and the index of each table is known. */
  def warmUp(threads: Int): Unit = {
    val next = new AtomicInteger
    LoadBenchmark.onThreads(threads) { _ =>
      val session = open()
      Iterator.continually(next.getAndIncrement()).takeWhile(_ < tables.count).foreach { table =>
        tables.queries.indices.by(7).foreach(query => check(query, session.sql(tables.text(query, table)).collect()))
      }
    }
  }

  /** All threads plan and run queries of random tables for some time. Three of four are planned only. */
  def turn(threads: Int, turnSeconds: Int): Unit = {
    val end = System.nanoTime() + turnSeconds * 1000000000L
    LoadBenchmark.onThreads(threads) { _ =>
      val session = open()
      while (System.nanoTime() < end) {
        val query = random(tables.queries.size)
        val text = tables.text(query, random(tables.count))
        if (random(4) > 0) planning.timed(splits(session.sql(text)))
        else check(query, queries.timed(session.sql(text).collect()))
      }
    }
    seconds.add(turnSeconds.toLong)
  }

  /** The number of splits of a query that is planned and not run. */
  private def splits(query: DataFrame): Int =
    query.queryExecution.sparkPlan.collect { case scan: BatchScanExec => scan.inputRDD.getNumPartitions }.sum

  /** Prepares DataFrames, holds all of them, and executes each twice. */
  def executeAgain(threads: Int, count: Int): Unit = {
    val prepared = new Array[(Int, DataFrame)](count)
    val session = open()
    def each(work: Int => Unit): Unit = {
      val next = new AtomicInteger
      LoadBenchmark.onThreads(threads)(_ =>
        Iterator.continually(next.getAndIncrement()).takeWhile(_ < count).foreach(work))
    }
    each { k =>
      val query = random(tables.queries.size)
      val frame = session.sql(tables.text(query, k % tables.count))
      check(query, first.timed(frame.collect()))
      prepared(k) = query -> frame
    }
    each { k =>
      val (query, frame) = prepared(k)
      check(query, again.timed(frame.collect()))
    }
  }

  /** Runs a few queries in a session that nothing holds afterwards. */
  def inNewSession(): Unit = {
    val session = open()
    (0 until 4).foreach { _ =>
      val query = random(tables.queries.size)
      check(query, session.sql(tables.text(query, random(tables.count))).collect())
    }
  }

  private def check(query: Int, rows: Array[Row]): Unit =
    if (rows.toSet != expected(query)) wrong.increment()

  def figures: Map[String, Any] = {
    import scala.jdk.CollectionConverters._
    Map(
      "planning" -> planning.figures.asJava,
      "queries" -> queries.figures.asJava,
      "firstExecution" -> first.figures.asJava,
      "nextExecution" -> again.figures.asJava,
      "seconds" -> seconds.sum(),
      "wrong" -> wrong.sum()
    )
  }
}

private[load] object Side {

  /** A new session; the index is not used on the side of Iceberg. */
  def session(spark: SparkSession, isIndex: Boolean): SparkSession = {
    val session = spark.newSession()
    session.conf.set("spark.sql.zonemap.enabled", isIndex)
    session
  }
}
