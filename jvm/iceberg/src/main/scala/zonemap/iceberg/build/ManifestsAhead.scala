// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.build

import java.io.IOException
import java.util.concurrent.CompletableFuture

import scala.collection.mutable
import scala.util.Using
import scala.util.control.NonFatal

import org.apache.iceberg.{CatalogProperties, ManifestFile}
import org.apache.iceberg.inmemory.InMemoryInputFile
import org.apache.iceberg.io.{FileIO, InputFile, IOUtil, OutputFile}
import org.apache.iceberg.util.PropertyUtil

import zonemap.iceberg.store.{FileIOByteSource, StorePool}

/**
 * Reads the next manifests from remote storage in parallel, while the caller decodes the manifests one after the other.
 *
 * Iceberg itself reads large and encrypted manifests, a manifest that is the only one, and all manifests if Iceberg's
 * own manifest cache is on. A failed read is not reported: the caller then reads the manifest again. Not thread-safe.
 */
private[build] final class ManifestsAhead(io: FileIO, manifests: Seq[ManifestFile], fetches: StorePool) {
  import ManifestsAhead._

  private val toFetch =
    if (manifests.size > 1 && !isCached(io)) manifests.iterator.filter(isFetched) else Iterator.empty
  private val store = manifests.headOption.fold("")(first => FileIOByteSource.folderOf(first.path()))
  private val underWay = mutable.HashMap.empty[String, Fetch]
  private var bytesUnderWay = 0L

  /** The `FileIO` with which to read `manifest`, which must be the next one of `manifests`. */
  def ioOf(manifest: ManifestFile): FileIO = {
    while (toFetch.hasNext && bytesUnderWay < MaxBytesAhead) start(toFetch.next())
    underWay.remove(manifest.path()) match {
      case Some(fetch) =>
        bytesUnderWay -= fetch.length
        Option(fetch.bytes.join()).fold(io)(new WithBytes(io, manifest.path(), _))
      case None => io
    }
  }

  private def start(manifest: ManifestFile): Unit = {
    val fetch = new Fetch(manifest.length())
    underWay.put(manifest.path(), fetch)
    bytesUnderWay += fetch.length
    fetches.execute(store) {
      // null if the fetch fails: the reader then reads the manifest itself
      var fetched: Array[Byte] = null
      try fetched = read(io, manifest)
      catch { case NonFatal(_) => () }
      finally fetch.bytes.complete(fetched): Unit
    }
  }
}

private object ManifestsAhead {
  private val MaxBytesAhead = 32L << 20
  private val MaxManifestBytes = 16L << 20

  private final class Fetch(val length: Long) {
    val bytes = new CompletableFuture[Array[Byte]]
  }

  private def isFetched(manifest: ManifestFile): Boolean =
    manifest.length() <= MaxManifestBytes && manifest.keyMetadata() == null && FileIOByteSource.isRemote(
      manifest.path())

  private def isCached(io: FileIO): Boolean =
    try
      PropertyUtil.propertyAsBoolean(
        io.properties(),
        CatalogProperties.IO_MANIFEST_CACHE_ENABLED,
        CatalogProperties.IO_MANIFEST_CACHE_ENABLED_DEFAULT)
    catch { case _: UnsupportedOperationException => false }

  /** Reads the whole file; its length must be the length in the manifest list. */
  private def read(io: FileIO, manifest: ManifestFile): Array[Byte] =
    Using.resource(io.newInputFile(manifest).newStream()) { stream =>
      val bytes = new Array[Byte](manifest.length().toInt)
      IOUtil.readFully(stream, bytes, 0, bytes.length)
      if (stream.read() >= 0) throw new IOException(s"'${manifest.path()}' is longer than ${bytes.length} bytes")
      bytes
    }

  /** Reads one file from `bytes`, and all other files through `io`. */
  private final class WithBytes(io: FileIO, location: String, bytes: Array[Byte]) extends FileIO {
    override def newInputFile(path: String): InputFile =
      if (path == location) new InMemoryInputFile(path, bytes) else io.newInputFile(path)
    override def newOutputFile(path: String): OutputFile = io.newOutputFile(path)
    override def deleteFile(path: String): Unit = io.deleteFile(path)
  }
}
