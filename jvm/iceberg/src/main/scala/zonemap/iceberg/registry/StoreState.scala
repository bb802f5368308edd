// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.registry

import zonemap.core.io.CorruptIndexException
import zonemap.iceberg.store.RetryPause

/**
 * The state of the stored index of a table: whether the next request to the store is due, and the last failures.
 *
 * After a read that found no version, or found damage, the store is not read for one minute, so that tables without an
 * index cost no requests. After a failed write, nothing is written for one minute. A build by a procedure ends both
 * pauses. Thread-safe.
 */
private[zonemap] final class StoreState {
  private val reading = new RetryPause
  private val writing = new RetryPause
  @volatile private var seen = false
  @volatile private var readError = Option.empty[String]
  @volatile private var writeError = Option.empty[String]

  def mayRead: Boolean = reading.isOver

  def mayWrite: Boolean = writing.isOver

  /** Whether the store was ever found to contain a version. */
  def exists: Boolean = seen

  /** The reason why the last read of the store failed; `None` after a successful read. */
  def lastReadError: Option[String] = readError

  /** The reason why the last write failed; `None` after a successful write. */
  def lastWriteError: Option[String] = writeError

  /** Records that a version was read. */
  def found(): Unit = {
    seen = true
    readError = None
    reading.end()
    writing.end()
  }

  /** Whether no pause is in effect. */
  def isIdle: Boolean = mayRead && mayWrite

  /** Records that a version was written, or that the existing version is up to date. */
  def written(): Unit = {
    writeError = None
    found()
  }

  /** Records that the store contains no version. */
  def missed(): Unit = reading.begin()

  /** Records that the store is damaged or cannot be read. */
  def unusable(why: String): Unit = {
    readError = Some(why)
    reading.begin()
  }

  /** Records that a write to the store failed. */
  def refused(why: String): Unit = {
    writeError = Some(why)
    writing.begin()
  }

  def reset(): Unit = {
    seen = false
    readError = None
    writeError = None
    reading.end()
    writing.end()
  }
}

private[zonemap] object StoreState {
  private val Damaged = "the stored index is damaged: "

  /** The text of a problem of damaged bytes. */
  def damaged(why: String): String = Damaged + why

  /** The damage that a text of [[damaged]] names; `None` for a problem of another kind. */
  def damageOf(problem: String): Option[String] =
    Option.when(problem.startsWith(Damaged))(problem.substring(Damaged.length))

  /** The reason why the store cannot be used, from the error of a read. */
  def problemOfRead(error: Throwable): String =
    error match {
      case damage: CorruptIndexException => damaged(damage.getMessage)
      case _                             => s"the store cannot be read: $error"
    }
}
