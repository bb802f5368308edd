// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.commit

import java.time.Clock
import java.util.{Map => JMap}
import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.iceberg.{BaseTable, TableMetadata, TableOperations}
import org.apache.iceberg.hadoop.HadoopFileIO
import org.apache.iceberg.io.{FileIO, LocationProvider}
import org.scalatest.funsuite.AnyFunSuite

import zonemap.ingest.{IngestTable, IngestTables}
import zonemap.ingest.loop.CommitLoop
import zonemap.ingest.table.{IngestRoot, IngestTarget, QueueChoice}

/** A committer outlives the keys of its table. */
class RenewedTargetTest extends AnyFunSuite {
  private val LifeMillis = 300L

  /** A table whose keys expire some milliseconds after it was loaded. */
  private final class Keyed(delegate: TableOperations) extends TableOperations {
    private val expiresAt = System.currentTimeMillis() + LifeMillis
    private val files = new HadoopFileIO(new Configuration()) {
      override def properties(): JMap[String, String] =
        Map("s3.session-token" -> "t", "s3.session-token-expires-at-ms" -> expiresAt.toString).asJava
    }

    override def current(): TableMetadata = delegate.current()
    override def refresh(): TableMetadata = delegate.refresh()
    override def commit(base: TableMetadata, updated: TableMetadata): Unit = delegate.commit(base, updated)
    override def io(): FileIO = files
    override def metadataFileLocation(fileName: String): String = delegate.metadataFileLocation(fileName)
    override def locationProvider(): LocationProvider = delegate.locationProvider()
  }

  private def keyed(t: IngestTable): IngestTarget = {
    val operations = t.reload().asInstanceOf[BaseTable].operations()
    IngestTarget.open(new BaseTable(new Keyed(operations), t.table.name()), None, QueueChoice.OfSpool)
  }

  private def waitFor(what: String)(holds: => Boolean): Unit = {
    val end = System.nanoTime() + 60L * 1000000000L
    while (!holds && System.nanoTime() < end) Thread.sleep(20)
    assert(holds, what)
  }

  test("a target is outdated once its keys expire, and when the property names another root") {
    val t = IngestTables.hadoop()
    val target = keyed(t)
    waitFor("the keys expire")(target.outdated.contains("its keys expire"))
    assert(t.target.outdated.isEmpty)
    val moved = t.target
    t.reload().updateProperties().set(IngestRoot.Property, "_elsewhere").commit()
    moved.operations.refresh()
    assert(moved.outdated.contains("its root has changed"))
  }

  test("a loop opens its table again before the keys expire, and goes on committing") {
    val t = IngestTables.hadoop()
    val loads = new AtomicInteger
    val loop = new CommitLoop(
      Seq[(String, () => IngestTarget)]("events" -> (() => {
        loads.incrementAndGet()
        keyed(t)
      })),
      IngestSettings(intervalMillis = 50, pollMillis = 20),
      Clock.systemUTC())
    loop.start()
    try
      (0 until 3).foreach { n =>
        val before = loads.get
        waitFor("the table is loaded again")(loads.get > before)
        t.append("a", t.dataFile(s"a$n"))
        waitFor("the record is visible")(t.live() == (0 to n).map(i => s"a$i"))
        assert(loop.status.forall(_.problem.isEmpty))
      }
    finally loop.close()
  }
}
