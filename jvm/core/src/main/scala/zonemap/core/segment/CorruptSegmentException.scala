package zonemap.core.segment

/** The bytes are not a segment (or version file) that this release can read: damaged, cut off or of another format. */
private[zonemap] sealed class CorruptSegmentException(what: String, cause: Throwable = null)
    extends RuntimeException(what, cause)

/** The bytes are intact and of a format that a later release writes. */
final private[zonemap] class LaterFormatException(what: String) extends CorruptSegmentException(what)
