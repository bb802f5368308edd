package zonemap.core.segment

/**
 * Builds a data segment in memory: O(rows x columns) memory, O(n log n) per column in `build`. Rows keep the order in
 * which they are added. Not thread-safe; an instance builds one segment.
 *
 * @param maxBoundaries the dictionary size above which a column's codes stop being exact (tests lower it)
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
  private val builders = columns.map(new ColumnBuilder(_, maxBoundaries)).toArray

  def rows: Int = fixed.rows

  /** The files added from now on belong to this manifest. A manifest may have none. */
  def beginManifest(manifest: ManifestIdentity): Unit = manifests.begin(manifest, rows)

  /** The ordinal of a partition in this segment; equal ones share it. See [[PartitionTuple]] for the value classes. */
  def partition(specId: Int, tuple: Array[AnyRef]): Int = partitions.intern(specId, tuple)

  /**
   * `bounds(i)` belongs to `columns(i)`; null when nothing is known. Stored as absent, and not tight, are inverted bounds
   * and those of a file of nulls or NaN only; NaN presence of a type without NaN, or of nulls only, is stored as none. A value of another
   * encoding than its column's is an IllegalArgumentException.
   */
  def add(file: FileEntry, bounds: Array[ColumnBounds]): Unit = {
    require(!manifests.isEmpty, "a file before the first manifest")
    require(bounds.length == builders.length, s"${bounds.length} bounds for ${builders.length} columns")
    require(file.partition >= 0 && file.partition < partitions.size, s"no partition ${file.partition}")
    fixed.add(file)
    paths.add(file.path)
    provenances.add(file.provenance)
    var column = 0
    while (column < builders.length) {
      builders(column).add(bounds(column))
      column += 1
    }
  }

  /** The segment file; below 2 GB. */
  def build(): Array[Byte] = {
    val container = new ContainerWriter(Container.KindData)
    val meta = new Output().int(rows).int(Blocks.BlockRows).int(PathBlocks.BlockRows).int(ExactFrames.FrameRows)
    val arrays = fixed.write(meta)
    // what every reader asks for first is near the header, so that one request brings it
    container.plain(SectionKey(SectionKind.Meta), meta.toBytes)
    provenances.write(container)
    container.packed(SectionKey(SectionKind.Manifests), manifests.encode(rows), manifests.size)
    container.packed(SectionKey(SectionKind.Partitions), partitions.encode(), partitions.size)
    arrays.foreach { case (key, bytes) => container.plain(key, bytes) }
    builders.foreach(_.write(container))
    paths.write(container)
    container.finish()
  }
}
