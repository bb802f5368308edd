// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.write

import java.nio.file.Files

import org.scalatest.funsuite.AnyFunSuite

import zonemap.ingest.commit.IngestSettings
import zonemap.ingest.queue.SpoolQueue
import zonemap.ingest.record.{IngestRecord, Nonce, RecordCodecTest}
import zonemap.ingest.store.{CountingFiles, IngestFiles}

class BackPressureTest extends AnyFunSuite {
  private val files = new CountingFiles(IngestFiles.of(null, Files.createTempDirectory("pressure").toString))
  private val queue = SpoolQueue.open(files, 0)

  private def record(seq: Int): IngestRecord =
    RecordCodecTest.Sample.copy(lane = "a", seq = seq.toLong, prevSeq = seq - 1L, nonce = Nonce.draw())

  test("a count of the queue serves many appends while there is room, and each append at the limit") {
    val settings = IngestSettings(softLimitRecords = 400, hardLimitRecords = 1000, softWaitMillis = 1)
    val pressure = new BackPressure("events", "a", queue, settings)
    def listingsOf(seqs: Range): Int = {
      val before = files.listings
      seqs.foreach { seq =>
        pressure.await()
        queue.append(record(seq))
        pressure.added()
      }
      files.listings - before
    }
    assert(listingsOf(0 until 100) <= 20, "eighths of the room, and at most two a second")
    listingsOf(100 until 400)
    assert(listingsOf(400 until 410) >= 10)
    listingsOf(410 until 1000)
    assert(intercept[BackPressureException](pressure.await()).getMessage.contains("1000 records"))
  }
}
