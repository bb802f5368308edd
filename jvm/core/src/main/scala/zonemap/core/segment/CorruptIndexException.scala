package zonemap.core.segment

/** The bytes are no file of an index that this release can read: damaged, cut off or of another format. */
private[zonemap] sealed class CorruptIndexException(what: String, cause: Throwable = null)
    extends RuntimeException(what, cause)

/** The bytes are intact and of a format that a later release writes. */
final private[zonemap] class LaterFormatException(what: String) extends CorruptIndexException(what)
