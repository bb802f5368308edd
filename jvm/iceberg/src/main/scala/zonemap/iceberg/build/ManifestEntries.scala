// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.build

import java.nio.BufferUnderflowException

import org.apache.iceberg.{ContentFile, ManifestFile, ManifestReader}

/**
 * The live entries of a manifest, as Iceberg decodes them.
 *
 * Other writers leave manifests that Iceberg cannot decode, as PyIceberg does for partitions by some types, and
 * Iceberg's own error names no manifest. Not thread-safe.
 */
private[build] final class ManifestEntries[A] private (manifest: ManifestFile, entries: => java.util.Iterator[A])
    extends Iterator[A] {
  import ManifestEntries._

  private lazy val underlying = entries

  override def hasNext: Boolean = decoding(underlying.hasNext)
  override def next(): A = decoding(underlying.next())

  private def decoding[B](step: => B): B =
    try step
    catch { case e: RuntimeException if isOfDecoding(e) => throw undecodable(manifest, e) }
}

private[build] object ManifestEntries {

  def of[F <: ContentFile[F]](manifest: ManifestFile, reader: ManifestReader[F]): Iterator[F] =
    new ManifestEntries[F](manifest, reader.iterator())

  /** Whether an error is about the bytes of a manifest. An error of storage names its file, and may pass. */
  private[build] def isOfDecoding(error: RuntimeException): Boolean = error match {
    case _: IndexOutOfBoundsException | _: BufferUnderflowException | _: NegativeArraySizeException |
        _: ClassCastException | _: NullPointerException | _: IllegalArgumentException =>
      true
    case _ => error.getClass.getName.contains(".avro.")
  }

  private def undecodable(manifest: ManifestFile, error: RuntimeException): UnindexableManifestException =
    new UnindexableManifestException(
      s"Cannot index manifest '${manifest.path()}': Iceberg cannot decode it ($error), and no scan in Spark can. " +
        "Write its data files again with an engine whose manifests Iceberg can read, or with another partition spec, " +
        "and build the index again.",
      error
    )
}
