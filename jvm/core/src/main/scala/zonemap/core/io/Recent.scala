package zonemap.core.io

/**
 * The values that were added last, a bounded number of them: whatever is done once a value does not remember values for
 * ever. A value that others have pushed out counts as new again. Thread-safe.
 */
private[zonemap] final class Recent[A](most: Int) {
  private val values = new LruBytes[A, java.lang.Boolean](_ => 1)

  /** Whether the value is not among the recent ones; it is from now on. */
  def add(value: A): Boolean = synchronized {
    val isNew = values.get(value).isEmpty
    if (isNew) {
      values.put(value, true)
      values.shrinkTo(most)
    }
    isNew
  }

  def size: Int = synchronized(values.size)
}
