// SPDX-License-Identifier: Apache-2.0
package zonemap.core.segment

import zonemap.core.column.{Blocks, ColumnBounds, ColumnBuilder, ColumnSpec, Dictionary, ExactFrames}
import zonemap.core.container.{Container, ContainerWriter, SectionKey, SectionKind}
import zonemap.core.io.Output

/**
 * Builds a data segment in memory, with O(rows x columns) memory and O(n log n) time per column in `build`. Rows keep
 * the order in which they are added. Not thread-safe; an instance builds one segment.
 *
 * @param maxBoundaries the largest dictionary of a column; a column with more distinct bounds has inexact codes (tests
 *   lower it)
 */
final private[zonemap] class SegmentBuilder(
    val columns: Seq[ColumnSpec],
    maxBoundaries: Int = Dictionary.MaxBoundaries) {
  require(maxBoundaries >= 2 && maxBoundaries <= Dictionary.MaxBoundaries, s"$maxBoundaries boundaries")
  require(columns.map(_.fieldId).distinct.size == columns.size, s"a field id occurs twice in $columns")

  private val manifests = new ManifestTable.Builder
  private val partitions = new PartitionTable.Builder
  private val fixed = new FixedColumnsBuilder
  private val paths = new PathsBuilder
  private val provenances = new ProvenancesBuilder
  private val evidence = new EvidenceBuilder
  private val builders = columns.map(new ColumnBuilder(_, maxBoundaries)).toArray

  def rows: Int = fixed.rows

  /** Starts a manifest: files added after this call belong to it. A manifest may have no files. */
  def beginManifest(manifest: ManifestIdentity): Unit = manifests.begin(manifest, rows)

  /**
   * The ordinal of a partition in this segment; equal partitions share one ordinal. [[PartitionTuple]] lists the value
   * classes.
   */
  def partition(specId: Int, tuple: Array[AnyRef]): Int = partitions.intern(specId, tuple)

  /** Records a digest of the names by which readers find a column in files without field ids. */
  def name(fieldId: Int, digest: String): Unit = evidence.name(fieldId, digest)

  /** The digests that [[name]] has recorded. */
  def names: collection.Map[Int, String] = evidence.names

  /**
   * Adds a file. `bounds(i)` are the bounds of `columns(i)`; null when nothing is known.
   *
   * Inverted bounds, and bounds of files that hold only nulls or only NaN, are stored as absent and not tight. The
   * presence of NaN is stored as none if the type has no NaN or if the file holds only nulls. A value in another
   * encoding than its column's is an IllegalArgumentException.
   */
  def add(file: FileEntry, bounds: Array[ColumnBounds]): Unit = {
    require(!manifests.isEmpty, "a file before the first manifest")
    require(bounds.length == builders.length, s"${bounds.length} bounds for ${builders.length} columns")
    require(file.partition >= 0 && file.partition < partitions.size, s"no partition ${file.partition}")
    fixed.add(file)
    paths.add(file.path)
    provenances.add(file.provenance)
    file.doubted.foreach(evidence.doubt(rows - 1, _))
    var column = 0
    while (column < builders.length) {
      builders(column).add(bounds(column))
      column += 1
    }
  }

  /** The bytes of the segment file, which must be below 2 GB. */
  def build(): Array[Byte] = {
    val container = new ContainerWriter(Container.KindData)
    val meta = new Output().int(rows).int(Blocks.BlockRows).int(PathBlocks.BlockRows).int(ExactFrames.FrameRows)
    val arrays = fixed.write(meta)
    // sections that every reader reads first are near the header, so that one request fetches them
    container.plain(SectionKey(SectionKind.Meta), meta.toBytes)
    provenances.write(container)
    evidence.write(container)
    container.packed(SectionKey(SectionKind.Manifests), manifests.encode(rows), manifests.size)
    container.packed(SectionKey(SectionKind.Partitions), partitions.encode(), partitions.size)
    arrays.foreach { case (key, bytes) => container.plain(key, bytes) }
    builders.foreach(_.write(container))
    paths.write(container)
    container.finish()
  }
}
