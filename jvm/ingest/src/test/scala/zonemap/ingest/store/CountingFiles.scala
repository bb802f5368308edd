// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.store

/** Another ingest root, of which a test changes some operations. */
class DelegatingFiles(delegate: IngestFiles) extends IngestFiles {
  override def root: String = delegate.root
  override def create(path: String, bytes: Array[Byte]): Boolean = delegate.create(path, bytes)
  override def replace(path: String, bytes: Array[Byte]): Unit = delegate.replace(path, bytes)
  override def read(path: String, maxBytes: Int): Option[Array[Byte]] = delegate.read(path, maxBytes)
  override def length(path: String): Option[Long] = delegate.length(path)
  override def list(folder: String): Seq[StoredIngestFile] = delegate.list(folder)
  override def delete(path: String): Unit = delegate.delete(path)
}

/** Counts the reads and the listings of an ingest root. */
final class CountingFiles(delegate: IngestFiles) extends DelegatingFiles(delegate) {
  @volatile var reads = 0
  @volatile var listings = 0

  override def read(path: String, maxBytes: Int): Option[Array[Byte]] = {
    reads += 1
    super.read(path, maxBytes)
  }

  override def list(folder: String): Seq[StoredIngestFile] = {
    listings += 1
    super.list(folder)
  }
}
