package zonemap.iceberg.settings

/**
 * How much of the stores' files is kept near this JVM.
 *
 * @param memoryMaxBytes cap of the fetched ranges in memory
 * @param dir the folder of fetched ranges on local disk, and of what is spilled; `None`: no range is kept on disk, and
 *   what is spilled goes into the JVM's folder for temporary files
 * @param diskMaxBytes cap of the ranges in `dir`, and of what one JVM spills
 */
final case class ColdSettings(
    memoryMaxBytes: Long = 256L << 20,
    dir: Option[String] = None,
    diskMaxBytes: Long = 4L << 30)
