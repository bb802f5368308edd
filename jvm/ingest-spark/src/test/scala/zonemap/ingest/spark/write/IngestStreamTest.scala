// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.spark.write

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{DataFrame, Encoders}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._

import zonemap.ingest.spark.IngestSession

/** Streaming queries that are written by the sink: restarts, replayed epochs, several queries, failures. */
class IngestStreamTest extends IngestSession {

  private def source(): MemoryStream[java.lang.Long] = MemoryStream(spark, 2)(Encoders.LONG)

  private def add(stream: MemoryStream[java.lang.Long], ids: Range): Unit =
    stream.addData(ids.map(i => java.lang.Long.valueOf(i.toLong))): Unit

  private def frame(stream: MemoryStream[java.lang.Long]): DataFrame =
    stream.toDF().select(col("value").as("id"), (col("value") % 3).cast("int").as("p"))

  private def table(name: String): String = create(name, "id BIGINT, p INT", "PARTITIONED BY (bucket(2, id), p)")

  private def run(stream: MemoryStream[java.lang.Long], checkpoint: Path, t: String): Unit =
    runOnce(frame(stream).writeStream.option("checkpointLocation", checkpoint.toString), t): Unit

  private def expected(ids: Seq[Int]): Seq[String] = ids.map(i => s"[$i,${i % 3}]").sorted

  /** Deletes the last entry of the log of finished epochs, so that the next start repeats the epoch. */
  private def forgetLastEpoch(checkpoint: Path): Unit = {
    val log = checkpoint.resolve("commits")
    val last = Files
      .list(log)
      .iterator()
      .asScala
      .filter(_.getFileName.toString.forall(_.isDigit))
      .maxBy(_.getFileName.toString.toLong)
    Files.deleteIfExists(log.resolve(s".${last.getFileName}.crc"))
    Files.delete(last)
  }

  test("epochs are records of one lane, and commits make them visible") {
    val t = table("stream_plain")
    val (stream, checkpoint) = (source(), newFolder("checkpoint"))
    for (k <- 0 until 3) {
      add(stream, k * 10 until k * 10 + 10)
      run(stream, checkpoint, t)
    }
    val lanes = pending(t)
    assert(lanes.map(_._2) == Seq(0L, 1L, 2L) && lanes.map(_._1).distinct.size == 1)
    assert(lanes.head._1.matches("stream-[0-9a-f-]{36}"))
    assert(commit(t) == ((3L, 30L)))
    assert(read(t) == expected(0 until 30))
    // A repeated epoch must not write to the paths of the first one, so no path contains the id of the query.
    val paths = spark.sql(s"SELECT file_path FROM $t.files").collect().map(_.getString(0))
    assert(paths.nonEmpty && !paths.exists(_.contains(lanes.head._1.stripPrefix("stream-"))))
  }

  test("toTable with the write option") {
    val t = table("stream_to_table")
    val stream = source()
    add(stream, 0 until 10)
    val query = frame(stream).writeStream
      .option(Format, "true")
      .option("checkpointLocation", newFolder("checkpoint").toString)
      .toTable(t)
    try query.processAllAvailable()
    finally query.stop()
    assert(read(t).isEmpty && commit(t) == ((1L, 10L)))
    assert(read(t) == expected(0 until 10))
  }

  for (committed <- Seq(true, false))
    test(s"an epoch that is repeated after a restart is not doubled, if the first one is ${if (committed) "committed"
      else "pending"}") {
      val t = table(s"stream_replay_$committed")
      val (stream, checkpoint) = (source(), newFolder("checkpoint"))
      for (k <- 0 until 3) {
        add(stream, k * 10 until k * 10 + 10)
        run(stream, checkpoint, t)
      }
      if (committed) commit(t): Unit
      forgetLastEpoch(checkpoint)
      run(stream, checkpoint, t)
      commit(t)
      assert(read(t) == expected(0 until 30))
      add(stream, 30 until 40)
      run(stream, checkpoint, t)
      commit(t)
      assert(read(t) == expected(0 until 40) && pending(t).isEmpty)
    }

  test("a query that wrote with Iceberg's sink goes on through the queue, and its repeated epoch is not doubled") {
    val t = table("stream_seam")
    val (stream, checkpoint) = (source(), newFolder("checkpoint"))
    for (k <- 0 until 2) {
      add(stream, k * 10 until k * 10 + 10)
      val query =
        frame(stream).writeStream.format("iceberg").option("checkpointLocation", checkpoint.toString).toTable(t)
      try query.processAllAvailable()
      finally query.stop()
    }
    forgetLastEpoch(checkpoint)
    run(stream, checkpoint, t)
    assert(pending(t).isEmpty && read(t) == expected(0 until 20))
    add(stream, 20 until 30)
    run(stream, checkpoint, t)
    assert(commit(t) == ((1L, 10L)) && read(t) == expected(0 until 30))
  }

  test("two queries into one table, with commits between") {
    val t = table("stream_two")
    val (one, two) = (source(), source())
    val folders = Seq(newFolder("checkpoint"), newFolder("checkpoint"))
    val queries = Seq(one, two).zip(folders).map { case (stream, folder) =>
      frame(stream).writeStream.option("checkpointLocation", folder.toString).format(Format).start(t)
    }
    try
      for (k <- 0 until 3) {
        add(one, k * 10 until k * 10 + 10)
        add(two, 1000 + k * 10 until 1000 + k * 10 + 10)
        queries.foreach(_.processAllAvailable())
        assert(commit(t)._2 == 20)
      }
    finally queries.foreach(_.stop())
    assert(read(t) == expected((0 until 30).concat(1000 until 1030)))
    assert(call(s"ingest_status('$t')").getAs[Long]("lanes") == 2)
  }

  test("two drivers on one checkpoint: each epoch counts once") {
    val t = table("stream_twins")
    val (stream, checkpoint) = (source(), newFolder("checkpoint"))
    add(stream, 0 until 10)
    run(stream, checkpoint, t)
    val copy = newFolder("copy")
    copyFolder(checkpoint, copy)
    add(stream, 10 until 20)
    run(stream, checkpoint, t)
    run(stream, copy, t)
    commit(t)
    assert(read(t) == expected(0 until 20) && pending(t).isEmpty)
  }

  test("a query that fails within an epoch leaves nothing visible, and the restart appends the epoch once") {
    val t = table("stream_fails")
    val (stream, checkpoint) = (source(), newFolder("checkpoint"))
    val marker = newFolder("fails").resolve("failed").toString
    val failsOnce = udf { (id: Long) =>
      if (id == 15 && new java.io.File(marker).createNewFile()) throw new IllegalStateException("planted")
      id
    }
    def start() = runOnce(
      frame(stream)
        .withColumn("id", failsOnce(col("id")))
        .writeStream
        .option("checkpointLocation", checkpoint.toString),
      t)
    add(stream, 0 until 10)
    start()
    add(stream, 10 until 20)
    assert(errorOf(start()).contains("planted"))
    assert(commit(t)._2 == 10 && read(t) == expected(0 until 10))
    start()
    assert(commit(t)._2 == 10 && read(t) == expected(0 until 20))
  }

  test("a query that is stopped within an epoch, and started again") {
    val t = table("stream_stopped")
    val (stream, checkpoint) = (source(), newFolder("checkpoint"))
    val slow = udf { (id: Long) => if (id == 15) Thread.sleep(3000); id }
    val frameWithDelay = frame(stream).withColumn("id", slow(col("id")))
    add(stream, 0 until 20)
    val query = frameWithDelay.writeStream.option("checkpointLocation", checkpoint.toString).format(Format).start(t)
    Thread.sleep(1500)
    query.stop()
    commit(t)
    assert(Set(Seq.empty[String], expected(0 until 20)).contains(read(t)))
    run(stream, checkpoint, t)
    commit(t)
    assert(read(t) == expected(0 until 20) && pending(t).isEmpty)
  }

  test("a table that gains a column and a partition field while a query runs") {
    val t = create("stream_evolves", "id BIGINT, p INT")
    val (stream, checkpoint) = (source(), newFolder("checkpoint"))
    val query = frame(stream).writeStream.option("checkpointLocation", checkpoint.toString).format(Format).start(t)
    try {
      add(stream, 0 until 10)
      query.processAllAvailable()
      sql(s"ALTER TABLE $t ADD COLUMN note STRING")
      sql(s"ALTER TABLE $t ADD PARTITION FIELD bucket(2, id)")
      add(stream, 10 until 20)
      query.processAllAvailable()
    } finally query.stop()
    assert(commit(t) == ((2L, 20L)))
    assert(read(t).size == 20 && sql(s"SELECT DISTINCT spec_id FROM $t.files").count() == 2)
  }

  test("output modes other than append, and a lane by name, are refused") {
    val t = table("stream_modes")
    val stream = source()
    add(stream, 0 until 10)
    val counts = stream.toDF().groupBy("value").count().select(col("value").as("id"), col("count").cast("int").as("p"))
    for (mode <- Seq("complete", "update"))
      assert(errorOf(
        runOnce(counts.writeStream.outputMode(mode).option("checkpointLocation", newFolder("c").toString), t)).nonEmpty)
    val named = frame(stream).writeStream
      .option("checkpointLocation", newFolder("c").toString)
      .option("zonemap-ingest.lane", "a")
      .option("zonemap-ingest.seq", "1")
    assert(errorOf(runOnce(named, t)).contains("a lane of its own"))
    assert(pending(t).isEmpty)
  }

  test("the queue at its limit: the query fails with the figures and the conf, and goes on after a commit") {
    val t = table("stream_limit")
    val (stream, checkpoint) = (source(), newFolder("checkpoint"))
    add(stream, 0 until 10)
    run(stream, checkpoint, t)
    add(stream, 10 until 20)
    val limits = Map("zonemap.ingest.softLimitRecords" -> "1", "zonemap.ingest.hardLimitRecords" -> "1")
    def limited() =
      runOnce(frame(stream).writeStream.option("checkpointLocation", checkpoint.toString).options(limits), t)
    val error = errorOf(limited())
    assert(error.contains("ingest.hardLimitRecords"), error)
    commit(t)
    limited()
    commit(t)
    assert(read(t) == expected(0 until 20))
  }

  private def copyFolder(from: Path, to: Path): Unit =
    Files.walk(from).iterator().asScala.filter(Files.isRegularFile(_)).foreach { file =>
      val target = to.resolve(from.relativize(file))
      Files.createDirectories(target.getParent)
      Files.copy(file, target)
    }
}
