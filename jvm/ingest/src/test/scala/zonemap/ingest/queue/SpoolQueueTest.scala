// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.queue

import java.nio.file.Files
import java.util.concurrent.{Callable, Executors}

import scala.jdk.CollectionConverters._

import zonemap.ingest.record.RecordProblem
import zonemap.ingest.store.{CountingFiles, DelegatingFiles, IngestFiles}

class SpoolQueueTest extends CommitQueueContract {
  private def files(): IngestFiles = IngestFiles.of(null, Files.createTempDirectory("spool").toString)
  private var store = files()

  override protected def open(): (CommitQueue, CommitQueue) = {
    store = files()
    (SpoolQueue.open(store, 0), SpoolQueue.open(store, 0))
  }

  override protected def damage(queue: CommitQueue, lane: String, seq: Long): Unit =
    store.create(SpoolNames.record("pending", lane, seq, "0123456789abcdef"), "torn".getBytes): Unit

  test("a record is a file of its lane") {
    val appended = record("läne/1", 3)
    val receipt = SpoolQueue.open(files(), 0).append(appended)
    assert(receipt.location.endsWith(s"pending/l%C3%A4ne%2F1/${"0" * 19}3-${appended.nonce}.rec"))
  }

  test("a name is appended once") {
    val queue = SpoolQueue.open(files(), 0)
    val appended = record("a", 0)
    queue.append(appended)
    assert(intercept[IllegalStateException](queue.append(appended)).getMessage.startsWith("Cannot append the record"))
  }

  test("a record is read once, as long as it is listed with the same size and time") {
    val counted = new CountingFiles(files())
    val queue = SpoolQueue.open(counted, 0)
    (0 until 3).foreach(seq => queue.append(record("a", seq.toLong)))
    counted.reads = 0
    assert(queue.readAhead(PollLimits(2, Long.MaxValue)).contains(2) && counted.reads == 2)
    assert(keys(queue.poll(Unlimited)) == Seq("a" -> 0L, "a" -> 1L, "a" -> 2L) && counted.reads == 3)
    assert(keys(queue.poll(Unlimited)).size == 3 && counted.reads == 3)
    queue.settle(queue.names().filter(_.seq == 0))
    assert(keys(queue.poll(Unlimited)) == Seq("a" -> 1L, "a" -> 2L) && counted.reads == 3)
    val name = queue.names().find(_.seq == 1).get
    counted.replace(SpoolNames.record("pending", "a", 1, name.nonce), "damaged".getBytes)
    val damaged = queue.poll(Unlimited).records.head
    assert(damaged.name.seq == 1 && damaged.content.isLeft && counted.reads == 4)
    assert(queue.poll(Unlimited).records.head.content.isLeft && counted.reads == 5, "it may be whole later")
  }

  test("the records of a lane are read one after another, and a lane keeps no bytes of them") {
    val counted = new CountingFiles(files())
    val queue = SpoolQueue.open(counted, 0)
    (0 until 3).foreach(seq => queue.append(record("a", seq.toLong)))
    counted.reads = 0
    val pending = queue.pendingOf("a")
    assert(pending.exists(_.name.seq == 1) && counted.reads == 2)
    val light = pending.last.withoutFiles
    assert(light.bytes.isEmpty && light.content.exists(r => r.files.isEmpty && r.seq == 2 && r.prevSeq == 1))
  }

  test("records beyond the memory for them are read by each poll") {
    val known = new PendingRecords(maxBytes = 250)
    val records = (0 until 3).map { seq =>
      Delivered(RecordName("a", seq.toLong, "n", 1), Right(record("a", seq.toLong)), Array.fill(100)(0))
    }
    records.foreach(known.add)
    def held = records.map(r => known.get(ListedRecord(r.name, 100)).isDefined)
    assert(held == Seq(true, true, false))
    known.retain(records.drop(1).map(r => ListedRecord(r.name, 100)))
    records.foreach(known.add)
    assert(held.count(identity) == 2)
    assert(known.get(ListedRecord(records(1).name, 99)).isEmpty, "another size is another content")
    assert(known.get(ListedRecord(records(1).name.copy(appendedAtMillis = 2), 100)).isEmpty)
  }

  test("the root of a queue in Kafka is not opened as a spool") {
    val store = files()
    val identity = QueueIdentity("00000000-0000-4000-8000-000000000001", Some("events"), 7)
    assert(QueueIdentity.create(store, identity) == identity)
    val error = intercept[IllegalArgumentException](SpoolQueue.open(store, 0))
    assert(error.getMessage.contains("its queue is the Kafka topic 'events'"))
  }

  test("processes that open a queue at the same time agree on its identity, and it stays") {
    val store = files()
    val pool = Executors.newFixedThreadPool(8)
    try {
      val opened = (0 until 16).map(_ => (() => SpoolQueue.open(store, 0).identity): Callable[String])
      val identities = pool.invokeAll(opened.asJava).asScala.map(_.get).toSet
      assert(identities.size == 1 && SpoolQueue.existing(store).map(_.identity) == identities.headOption)
    } finally pool.shutdown()
  }

  test("a process that created the identity uses the one that another process put in its place") {
    val store = files()
    val racing = new DelegatingFiles(store) {
      override def createsAtomically: Boolean = false
      override def create(path: String, bytes: Array[Byte]): Boolean = {
        val created = store.create(path, bytes)
        val other = new String(bytes).replaceAll("\"[0-9a-f-]{36}\"", "\"00000000-0000-0000-0000-000000000007\"")
        val late = new Thread(() => {
          Thread.sleep(300)
          store.replace(path, other.getBytes)
        })
        late.start()
        created
      }
    }
    assert(SpoolQueue.open(racing, 0).identity.endsWith("7"))
  }

  test("in a file system that shows files while they are written, a record that is not whole is no damaged one") {
    val folder = Files.createTempDirectory("spool")
    val location = s"hdfs:$folder" // not a local root, so that it goes through the FileIO
    val io = new org.apache.iceberg.hadoop.HadoopFileIO(new org.apache.hadoop.conf.Configuration()) {
      override def newInputFile(path: String) = super.newInputFile(path.stripPrefix("hdfs:"))
      override def newOutputFile(path: String) = super.newOutputFile(path.stripPrefix("hdfs:"))
      override def deleteFile(path: String): Unit = super.deleteFile(path.stripPrefix("hdfs:"))
      override def listPrefix(prefix: String) = super.listPrefix(prefix.stripPrefix("hdfs:"))
    }
    val queue = SpoolQueue.open(IngestFiles.of(io, location), 0)
    val name = SpoolNames.record("pending", "a", 0, "0123456789abcdef")
    Files.createDirectories(folder.resolve(name).getParent)
    Files.writeString(folder.resolve(name), "zonemap-ingest 1 ")
    val young = queue.poll(Unlimited)
    assert(young.records.isEmpty && young.unreadable.map(_.name.lane) == Seq("a"))
    val old = java.nio.file.attribute.FileTime.fromMillis(System.currentTimeMillis() - 11 * 60 * 1000)
    Files.setLastModifiedTime(folder.resolve(name), old)
    assert(queue.poll(Unlimited).records.map(_.content.left.map(_.code)) == Seq(Left(RecordProblem.Damaged)))
  }

  test("a poll leaves out the records behind one that cannot be read, in its lane only") {
    val store = new zonemap.ingest.FaultyFiles(files())
    val queue = SpoolQueue.open(store, 0)
    for (lane <- Seq("a", "b"); seq <- 0 until 100) queue.append(record(lane, seq.toLong))
    store.refused += "read" -> f"pending/a/${40}%020d"
    val poll = queue.poll(Unlimited)
    assert(keys(poll).groupBy(_._1).map { case (lane, all) => lane -> all.size } == Map("a" -> 40, "b" -> 100))
    assert(poll.unreadable.map(s => (s.name.lane, s.name.seq)) == Seq(("a", 40L)) && poll.complete)
  }

  test("a poll takes deferred lanes last, unless an earlier record has arrived") {
    val queue = filled("a" -> 2, "b" -> 2)
    def first(deferred: (String, Long)*) = keys(queue.poll(PollLimits(2, Long.MaxValue, deferred.toMap))).map(_._1)
    assert(first("a" -> 0L) == Seq("b", "b") && first("b" -> 0L) == Seq("a", "a"))
    assert(first("a" -> 1L).toSet == Set("a", "b"))
  }

  test("a damaged identity is an error, never a new identity") {
    val store = files()
    store.create(SpoolNames.QueueId, "x".getBytes)
    assert(intercept[IllegalStateException](SpoolQueue.open(store, 0)).getMessage.startsWith("Cannot open the queue"))
  }
}
