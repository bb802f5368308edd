package zonemap.ingest.queue

import java.nio.file.Files
import java.util.concurrent.{Callable, Executors}

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import zonemap.ingest.record._
import zonemap.ingest.store.{IngestFiles, StoredIngestFile}

class SpoolQueueTest extends AnyFunSuite {
  private def files(): IngestFiles = IngestFiles.of(null, Files.createTempDirectory("spool").toString)
  private val Unlimited = PollLimits(Int.MaxValue, Long.MaxValue)

  private def record(lane: String, seq: Long): IngestRecord =
    RecordCodecTest.Sample.copy(lane = lane, seq = seq, prevSeq = seq - 1, nonce = Nonce.draw())

  private def filled(lanes: (String, Int)*): SpoolQueue = {
    val queue = SpoolQueue.open(files(), 0)
    for ((lane, count) <- lanes; seq <- 0 until count) queue.append(record(lane, seq.toLong))
    queue
  }

  private def keys(poll: Poll): Seq[(String, Long)] = poll.records.map(d => (d.name.lane, d.name.seq))

  test("records are delivered as they were appended, until they are settled") {
    val queue = SpoolQueue.open(files(), 0)
    val appended = record("läne/1", 3)
    val receipt = queue.append(appended)
    assert(receipt.location.endsWith(s"pending/l%C3%A4ne%2F1/${"0" * 19}3-${appended.nonce}.rec"))
    (0 until 2).foreach(_ => assert(queue.poll(Unlimited).records.map(_.content) == Seq(Right(appended))))
    assert(queue.stats().records == 1 && queue.stats().oldestMillis.nonEmpty)
    (0 until 2).foreach(_ => queue.settle(Seq(RecordName("läne/1", 3, appended.nonce, 0))))
    assert(queue.poll(Unlimited) == Poll(Nil, complete = true) && queue.stats() == QueueStats(0, 0, None))
  }

  test("a poll with limits takes a prefix of each lane, and lanes in turn") {
    val queue = filled("a" -> 5, "b" -> 2, "c" -> 1)
    (1 to 8).foreach { limit =>
      val poll = queue.poll(PollLimits(limit, Long.MaxValue))
      assert(poll.records.size == limit && poll.complete == (limit == 8))
      keys(poll).groupBy(_._1).values.foreach(lane => assert(lane.map(_._2) == lane.indices.map(_.toLong)))
      if (limit >= 3) assert(keys(poll).map(_._1).toSet == Set("a", "b", "c"))
    }
    assert(keys(queue.poll(PollLimits(10, 1))).size == 1)
  }

  test("a name is appended once") {
    val queue = filled()
    val appended = record("a", 0)
    queue.append(appended)
    assert(intercept[IllegalStateException](queue.append(appended)).getMessage.startsWith("Cannot append the record"))
  }

  test("the files of pending records are listed, and a record that cannot be read is an error") {
    val store = files()
    val queue = SpoolQueue.open(store, 0)
    val appended = record("a", 0)
    queue.append(appended)
    assert(queue.pendingFiles().toSeq == Seq("/t/data/a.parquet"))
    store.create(SpoolNames.record("pending", "a", 1, "0123456789abcdef"), "torn".getBytes)
    assert(intercept[UnreadableRecordException](queue.pendingFiles().toSeq).getMessage.startsWith("Cannot list"))
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
    val racing = new IngestFiles {
      override def root: String = store.root
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
      override def replace(path: String, bytes: Array[Byte]): Unit = store.replace(path, bytes)
      override def read(path: String, maxBytes: Int): Option[Array[Byte]] = store.read(path, maxBytes)
      override def length(path: String): Option[Long] = store.length(path)
      override def list(folder: String): Seq[StoredIngestFile] = store.list(folder)
      override def delete(path: String): Unit = store.delete(path)
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
