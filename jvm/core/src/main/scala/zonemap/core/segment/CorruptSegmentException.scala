package zonemap.core.segment

/** The bytes are not a segment (or version file) that this release can read: damaged, cut off or of another format. */
final private[zonemap] class CorruptSegmentException(what: String, cause: Throwable = null)
    extends RuntimeException(what, cause)
