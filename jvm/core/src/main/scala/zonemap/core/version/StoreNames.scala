// SPDX-License-Identifier: Apache-2.0
package zonemap.core.version

/**
 * The names of the files of a store, relative to its folder (docs/design/FORMAT.md, "Names in a store").
 *
 * Each part of a name consists of letters, digits, `-` and `_`. So no name leads out of the folder: a name is never
 * absolute, and has no scheme, no empty part and no part of dots. A store reads and deletes only files with such names.
 */
private[zonemap] object StoreNames {
  private val Part = "[A-Za-z0-9_-]+"
  private val DataSegment = s"segments/$Part/$Part\\.zm".r
  private val DeleteSegment = s"segments/$Part/$Part\\.zmd".r
  private val Facts = s"facts/$Part/-?[0-9]+/$Part\\.zmf".r
  private val Version = "versions/[0-9]{1,19}".r

  /** The name of the hint file, which names the version written last. */
  val Latest = "latest"

  def isDataSegment(path: String): Boolean = DataSegment.matches(path)

  def isDeleteSegment(path: String): Boolean = DeleteSegment.matches(path)

  def isFacts(path: String): Boolean = Facts.matches(path)

  def isVersion(path: String): Boolean = Version.matches(path)

  /** Whether a version may name a file of this name. */
  def isNamed(path: String): Boolean = isDataSegment(path) || isDeleteSegment(path) || isFacts(path)

  /** Whether a store may contain a file of this name. */
  def isOwn(path: String): Boolean = isNamed(path) || isVersion(path) || path == Latest
}
