// SPDX-License-Identifier: Apache-2.0
package zonemap.core.io

/** The bytes are not an index file that this release can read: they are damaged, cut off or of another format. */
private[zonemap] sealed class CorruptIndexException(what: String, cause: Throwable = null)
    extends RuntimeException(what, cause)

/** The bytes are intact, but a later release wrote them in a later format. */
final private[zonemap] class LaterFormatException(what: String) extends CorruptIndexException(what)
