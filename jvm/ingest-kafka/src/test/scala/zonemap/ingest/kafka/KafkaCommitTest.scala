// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.kafka

import java.nio.file.Files
import java.time.Clock
import java.util.concurrent.{Callable, Executors, TimeUnit}

import scala.util.{Failure, Success, Try}

import org.apache.iceberg.ContentFileParser
import org.apache.kafka.clients.producer.{KafkaProducer, ProducerRecord}
import org.apache.kafka.common.serialization.ByteArraySerializer
import org.scalatest.BeforeAndAfterEach
import org.scalatest.funsuite.AnyFunSuite

import zonemap.ingest.{IngestTable, IngestTables}
import zonemap.ingest.admin.{IngestAdmin, Visibility}
import zonemap.ingest.commit._
import zonemap.ingest.gc.IngestGc
import zonemap.ingest.record.{Nonce, QueuedFile, UnreadableRecordException}
import zonemap.ingest.table.{IngestStoppedException, IngestTarget, QueueChoice, StateFile, StopCode}
import zonemap.ingest.write.LaneWriter

/** Producers and committers of a table in a JDBC catalog, with a queue in a topic of a real broker. */
class KafkaCommitTest extends AnyFunSuite with BeforeAndAfterEach {
  private lazy val broker = KafkaBroker.shared
  private def choice = QueueChoice(Some(QueueChoice.Kafka), Some(broker.servers))
  private var table = Option.empty[IngestTable]

  override protected def afterEach(): Unit = {
    table.foreach(_.close())
    table = None
  }

  private def newTable(settings: IngestSettings = IngestSettings(), choice: QueueChoice = choice): IngestTable = {
    table = Some(IngestTables.in(IngestTables.jdbc(IngestTables.folder()), settings, choice))
    table.get
  }

  private def topicOf(t: IngestTable): String = KafkaSettings.DefaultPrefix + t.table.uuid()

  private def admin(t: IngestTable): IngestAdmin = new IngestAdmin(t.target, t.settings, t.clock)

  private def stopCode(t: IngestTable): String = t.pass().outcome match {
    case PassOutcome.Stopped(code, _) => code
    case other                        => fail(s"not stopped: $other")
  }

  test("records of several lanes are committed once, also repeated ones, and leave the topic") {
    val t = newTable()
    val lane = t.lane("a")
    t.append(lane, t.dataFile("a0"))
    t.append(lane, t.dataFile("a1"), t.dataFile("a2"))
    val receipt = t.append("b", t.dataFile("b0"))
    val pending = t.target.queue.pendingOf("a").flatMap(_.content.toOption)
    t.target.queue.append(pending.head.copy(nonce = "00000000000000ff"))
    assert(admin(t).visibility(receipt) == Visibility.Pending)
    val status = admin(t).status()
    assert(status.pendingRecords == 4 && status.queue == s"kafka topic ${topicOf(t)} at ${broker.servers}")
    assert(t.pass().outcome.isInstanceOf[PassOutcome.Committed])
    assert(t.live() == Seq("a0", "a1", "a2", "b0") && t.target.queue.names().isEmpty)
    t.target.queue.append(pending(1).copy(nonce = "00000000000000fe"))
    t.append("a", t.dataFile("a3"))
    t.pass()
    assert(t.live() == Seq("a0", "a1", "a2", "a3", "b0") && t.target.queue.names().isEmpty)
    assert(admin(t).visibility(receipt) == Visibility.Visible)
  }

  test("a record that is refused goes to quarantine with its bytes, and comes back when it is requeued") {
    val t = newTable(settings = IngestSettings(quarantineMillis = 0))
    t.append("a", t.dataFile("a0"))
    val first =
      t.target.queue.poll(zonemap.ingest.queue.PollLimits(10, Long.MaxValue)).records.head.content.toOption.get
    val long = first.copy(lane = "b", prevSeq = -1, nonce = "00000000000000fe", writer = "w" * 2000000)
    t.target.queue.append(long.copy(branch = "nowhere"))
    t.pass()
    assert(admin(t).quarantined().map(q => (q.lane, q.code)) == Seq(("b", "unknown-branch")))
    assert(t.target.queue.names().isEmpty && t.target.files.list("spilled").isEmpty)
    t.reload().manageSnapshots().createBranch("nowhere").commit()
    admin(t).requeue("b", first.seq)
    t.passes()
    assert(t.live("nowhere").count(_ == "a0") == 2 && admin(t).quarantined().isEmpty)
  }

  test("a hundred thousand messages of another application leave one number in the state, and stop no writer") {
    val t = newTable(settings = IngestSettings(quarantineMillis = 0))
    t.append("a", t.dataFile("a0"))
    t.pass()
    val (topic, client) = (topicOf(t), KafkaSettings(broker.servers).client())
    val other = new KafkaProducer(client, new ByteArraySerializer, new ByteArraySerializer)
    try
      (0 until 100000).foreach(i =>
        other.send(new ProducerRecord(topic, Int.box(i % 2), null: Array[Byte], "hello".getBytes)))
    finally other.close()
    t.append("a", t.dataFile("a1"))
    t.pass()
    assert(t.live() == Seq("a0", "a1") && t.target.queue.names().isEmpty)
    val reports = admin(t).quarantined()
    assert(reports.size == 2 && reports.forall(_.message.startsWith("50000 messages of partition ")), reports)
    val files = t.target.files
    val states = files.list(StateFile.Folder).map(file => files.read(file.path, StateFile.MaxBytes).get)
    assert(states.map(_.length).max < 4096)
    val marks = states.flatMap(StateFile.decode(_).toOption).flatMap(_.lanes).collect {
      case (lane, mark) if lane.startsWith("kafka-unnamed-") => mark
    }
    assert(marks.nonEmpty && marks.forall(mark => mark.holes.isEmpty && mark.gaps.isEmpty))
  }

  test("the broker is killed and started again while 3 producers append and 2 committers commit") {
    val t = newTable()
    val config = clientConfig(
      "delivery.timeout.ms=2000\nrequest.timeout.ms=1500\ndefault.api.timeout.ms=2000\nretry.backoff.max.ms=200\n")
    def open() = IngestTarget.open(t.reload(), None, choice.copy(clientConfig = Some(config)))
    val target = open()
    // A lane or a queue that is opened while the broker is gone fails.
    val lanes = (0 until 3).map(p => LaneWriter.open(target, t.settings, "main", s"lane-$p", "test"))
    val queues = Seq.fill(2)(open())
    val pool = Executors.newFixedThreadPool(5)
    @volatile var isOver = false
    try {
      val producers = lanes.zipWithIndex.map { case (lane, p) =>
        pool.submit((() => {
          (0 until 12).foreach { i =>
            val file = t.dataFile(f"$p-$i%02d")
            append(lane, i.toLong, file, System.nanoTime() + 60L * 1000000000)
            Thread.sleep(150)
          }
        }): Callable[Unit])
      }
      val committers = queues.map { queue =>
        val committer = new Committer(queue, t.settings, Clock.systemUTC())
        pool.submit((() => while (!isOver) Try(committer.pass())): Callable[Unit])
      }
      Thread.sleep(700)
      broker.kill()
      Thread.sleep(500)
      broker.start()
      producers.foreach(_.get(90, TimeUnit.SECONDS))
      val end = System.currentTimeMillis() + 30000
      while (t.live().size < 36 && System.currentTimeMillis() < end) Thread.sleep(100)
      isOver = true
      committers.foreach(_.get(60, TimeUnit.SECONDS))
    } finally {
      isOver = true
      pool.shutdown()
      (target +: queues).foreach(_.close())
    }
    t.passes()
    assert(t.live() == (for (p <- 0 until 3; i <- 0 until 12) yield f"$p-$i%02d").sorted)
    assert(t.target.queue.names().isEmpty && admin(t).quarantined().isEmpty)
  }

  /** As a producer does: after a failure, the same files with the same number again. */
  private def append(lane: LaneWriter, seq: Long, file: org.apache.iceberg.DataFile, deadline: Long): Unit =
    Try(lane.append(seq, Seq(file), System.currentTimeMillis())) match {
      case Success(_)                                 => ()
      case Failure(_) if System.nanoTime() < deadline => append(lane, seq, file, deadline)
      case Failure(e)                                 => throw e
    }

  private def clientConfig(text: String): String =
    Files.writeString(Files.createTempFile("client", ".properties"), text).toString

  test("an append whose answer is lost is repeated, and both records count once") {
    val t = newTable()
    val config = clientConfig("delivery.timeout.ms=1500\nrequest.timeout.ms=1000\n")
    val target = IngestTarget.open(t.reload(), None, choice.copy(clientConfig = Some(config)))
    try {
      LaneWriter.open(target, t.settings, "main", "a", "test").append(0, Seq(t.dataFile("a0")), t.clock.millis())
      val first = target.queue.pendingOf("a").head.content.toOption.get
      val files = Seq(QueuedFile(0, ContentFileParser.toJson(t.dataFile("a1"), t.table.spec())))
      val second = first.copy(seq = 1, prevSeq = 0, nonce = Nonce.draw(), files = files)
      broker.signal("STOP")
      val failure =
        try intercept[IllegalStateException](target.queue.append(second))
        finally broker.signal("CONT")
      assert(failure.getMessage.contains("append it again with the same number"), failure)
      target.queue.append(second.copy(nonce = Nonce.draw()))
      val seqs = t.target.queue.pendingOf("a").map(_.name.seq)
      assert(seqs == Seq(0, 1, 1), "the brokers have appended the record without an answer")
      t.pass()
      assert(t.live() == Seq("a0", "a1") && t.target.queue.names().isEmpty)
    } finally target.queue.close()
  }

  test("after the topic was created again, committers stop until a person resets, and then go on") {
    val t = newTable()
    t.append("a", t.dataFile("a0"))
    t.pass()
    t.append("a", t.dataFile("lost"))
    broker.deleteTopic(topicOf(t))
    assert(intercept[IllegalStateException](t.target).getMessage.contains("does not exist any more"))
    broker.createTopic(topicOf(t))
    assert(stopCode(t) == StopCode.OtherQueue && admin(t).status().problem.contains("the queue is"))
    assert(intercept[IllegalStateException](t.lane("a")).getMessage.contains("ingest_reset"))
    admin(t).reset("main", Map.empty, forgetKnown = false)
    val lane = t.lane("a")
    assert(lane.lastSeq == 0)
    t.append(lane, t.dataFile("a1"))
    t.pass()
    assert(t.live() == Seq("a0", "a1"))
  }

  test("a topic that is created again before the first commit stops the committers too") {
    val t = newTable()
    t.append("a", t.dataFile("lost"))
    broker.deleteTopic(topicOf(t))
    broker.createTopic(topicOf(t))
    assert(stopCode(t) == StopCode.OtherQueue)
    admin(t).reset("main", Map.empty, forgetKnown = true)
    t.append("a", t.dataFile("a0"))
    t.pass()
    assert(t.live() == Seq("a0"))
  }

  test("records that Kafka deletes before they are committed are quarantined as lost, and gc waits for a person") {
    val t = newTable(settings = IngestSettings(quarantineMillis = 0))
    t.append("a", t.dataFile("a0"))
    t.pass()
    t.append("b", t.dataFile("lost"))
    t.append("a", t.dataFile("lost-too"))
    broker.deleteRecords(topicOf(t))
    assert(admin(t).status().pendingRecords >= 1)
    t.passes()
    val lost = admin(t).quarantined()
    assert(lost.nonEmpty && lost.forall(q => q.code == "lost" && q.lane.startsWith("kafka-lost-")), lost)
    assert(t.live() == Seq("a0") && t.target.queue.names().isEmpty)
    t.append("c", t.dataFile("c0"))
    t.pass()
    assert(t.live() == Seq("a0", "c0"))
    val gc = new IngestGc(t.target, t.clock)
    val waits = intercept[UnreadableRecordException](gc.run(0, dryRun = true))
    assert(waits.getMessage.contains("Discard it with ingest_discard"))
    lost.foreach(q => admin(t).discard(q.lane, q.seq))
    assert(gc.run(0, dryRun = true).map(_.location.split('/').last).count(_.startsWith("lost")) == 2)
  }

  test("gc deletes the files of long records that no message names") {
    val t = newTable()
    t.append("a", t.dataFile("a0"))
    val first = t.target.queue.pendingOf("a").head.content.toOption.get
    t.target.queue.append(first.copy(seq = 1, prevSeq = 0, nonce = "00000000000000fe", writer = "w" * 2000000))
    val useless = "spilled/b/00000000000000000000-00000000000000ff.rec"
    t.target.files.create(useless, "never sent".getBytes)
    val day = 24 * 3600 * 1000L
    Seq("spilled/a", "spilled/b").map(t.root.resolve).flatMap(folder => folder.toFile.listFiles().toSeq).foreach {
      file =>
        assert(file.setLastModified(System.currentTimeMillis() - day))
    }
    val found = new IngestGc(t.target, t.clock).run(day / 2, dryRun = true).map(_.location)
    assert(found == Seq(s"${t.target.files.root}/$useless"))
  }

  test("gc refuses another root than that of the table, although the topic is the same") {
    val t = newTable()
    t.append("a", t.dataFile("a0"))
    t.pass()
    val other = IngestTarget.open(t.reload(), Some(IngestTables.folder().toString), choice)
    try {
      val error = intercept[IngestStoppedException](new IngestGc(other, t.clock).run(0, dryRun = true))
      assert(error.code == StopCode.StateLost && other.queue.identity == t.target.queue.identity)
    } finally other.close()
  }

  test("writers and committers that choose different queues find out") {
    val t = newTable()
    t.append("a", t.dataFile("a0"))
    val spool = intercept[IllegalArgumentException](IngestTarget.spool(t.reload(), None))
    assert(spool.getMessage.contains(s"its queue is the Kafka topic '${topicOf(t)}'"))
    val missing = intercept[IllegalArgumentException](IngestTarget.open(t.reload(), None, QueueChoice(Some("kafka"))))
    assert(missing.getMessage.contains("zonemap.ingest.kafka.bootstrapServers"))
    val unknown = intercept[IllegalArgumentException](IngestTarget.open(t.reload(), None, QueueChoice(Some("jdbc"))))
    assert(unknown.getMessage.contains("queues are spool and kafka"))
  }

  test("the properties of a table choose its queue") {
    val t = newTable(choice = QueueChoice())
    t.table
      .updateProperties()
      .set(QueueChoice.KindProperty, "kafka")
      .set(QueueChoice.ServersProperty, broker.servers)
      .set(QueueChoice.PrefixProperty, "lake.")
      .commit()
    t.append("a", t.dataFile("a0"))
    assert(t.target.queue.description.startsWith(s"kafka topic lake.${t.table.uuid()}"))
    t.pass()
    assert(t.live() == Seq("a0"))
  }
}
