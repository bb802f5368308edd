// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.ingest

import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicLong

import org.apache.iceberg.{TableMetadata, TableOperations}
import org.apache.iceberg.encryption.EncryptionManager
import org.apache.iceberg.io.{FileIO, LocationProvider}

/** Counts the commits that are sent to the catalog, and takes the time of those that land. */
final class CountingOperations(delegate: TableOperations) extends TableOperations {
  private val sent = new AtomicLong
  private val landedMillis = new ConcurrentLinkedQueue[Double]

  def attempts: Long = sent.get
  def landed: ConcurrentLinkedQueue[Double] = landedMillis

  override def commit(base: TableMetadata, updated: TableMetadata): Unit = {
    sent.incrementAndGet()
    val started = System.nanoTime()
    delegate.commit(base, updated)
    landedMillis.add((System.nanoTime() - started) / 1e6): Unit
  }

  override def current(): TableMetadata = delegate.current()
  override def refresh(): TableMetadata = delegate.refresh()
  override def io(): FileIO = delegate.io()
  override def encryption(): EncryptionManager = delegate.encryption()
  override def metadataFileLocation(fileName: String): String = delegate.metadataFileLocation(fileName)
  override def locationProvider(): LocationProvider = delegate.locationProvider()
  override def temp(uncommitted: TableMetadata): TableOperations = delegate.temp(uncommitted)
  override def newSnapshotId(): Long = delegate.newSnapshotId()
  override def requireStrictCleanup(): Boolean = delegate.requireStrictCleanup()
}
