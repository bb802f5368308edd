// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.gc

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.iceberg.{ContentFile, ManifestContent, ManifestFile, ManifestFiles, TableMetadata}
import org.apache.iceberg.io.FileIO

/** The data files and delete files that any snapshot of a table refers to. Reads every manifest once. */
private[gc] object ReachableFiles {

  def of(metadata: TableMetadata, io: FileIO): Set[String] = {
    val manifests = mutable.LinkedHashMap.empty[String, ManifestFile]
    metadata.snapshots().asScala.foreach(_.allManifests(io).asScala.foreach(m => manifests.put(m.path(), m)))
    val locations = mutable.HashSet.empty[String]
    manifests.values.foreach(manifest => read(manifest, metadata, io)(locations.add(_): Unit))
    locations.toSet
  }

  private def read(manifest: ManifestFile, metadata: TableMetadata, io: FileIO)(add: String => Unit): Unit = {
    def all(files: Iterable[_ <: ContentFile[_]]): Unit = files.foreach { file =>
      add(file.location())
    }
    if (manifest.content() == ManifestContent.DATA)
      Using.resource(ManifestFiles.read(manifest, io, metadata.specsById()))(reader => all(reader.asScala))
    else
      Using.resource(ManifestFiles.readDeleteManifest(manifest, io, metadata.specsById()))(r => all(r.asScala))
  }
}
