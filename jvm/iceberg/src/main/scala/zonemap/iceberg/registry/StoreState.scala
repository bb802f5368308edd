package zonemap.iceberg.registry

import zonemap.core.io.CorruptIndexException
import zonemap.iceberg.store.Pause

/**
 * What is known about the stored index of a table: whether it is worth a request, and what failed last.
 *
 * After a look that found nothing, or found damage, the store is left alone for a minute, so that tables without an
 * index cost no requests; after a write that failed, writing is. A build by a procedure resets both. Thread-safe.
 */
private[zonemap] final class StoreState {
  private val reading = new Pause
  private val writing = new Pause
  @volatile private var seen = false
  @volatile private var readError = Option.empty[String]
  @volatile private var writeError = Option.empty[String]

  def worthALook: Boolean = reading.isOver

  def worthAWrite: Boolean = writing.isOver

  /** Whether a version was ever found there. */
  def exists: Boolean = seen

  /** Why the store could not be used when it was last read; `None` once it could be. */
  def lastReadError: Option[String] = readError

  /** Why the last write failed; `None` once one succeeded. */
  def lastWriteError: Option[String] = writeError

  /** A version was read. */
  def found(): Unit = {
    seen = true
    readError = None
    reading.end()
    writing.end()
  }

  /** Whether nothing waits to be tried again. */
  def isIdle: Boolean = worthALook && worthAWrite

  /** A version was written, or one that is there is all that there is to write. */
  def written(): Unit = {
    writeError = None
    found()
  }

  /** The store holds no version. */
  def missed(): Unit = reading.begin()

  /** The store is damaged or cannot be read. */
  def unusable(why: String): Unit = {
    readError = Some(why)
    reading.begin()
  }

  /** The store took no write. */
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

  /** Why the store cannot be used after this error of a read. */
  def problemOfRead(error: Throwable): String =
    error match {
      case damage: CorruptIndexException => damaged(damage.getMessage)
      case _                             => s"the store cannot be read: $error"
    }
}
