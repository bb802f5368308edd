package zonemap.core.io

/**
 * Values in the order of their last use, with the sum of what they weigh. Whoever puts a value decides when the oldest
 * ones leave. Not thread-safe.
 *
 * @param weigh what one value counts for, the same for as long as the value is held
 */
private[zonemap] final class LruBytes[K, V <: AnyRef](weigh: V => Long) {
  private val values = new java.util.LinkedHashMap[K, V](16, 0.75f, true)
  private var held = 0L

  /** The sum of what the held values weigh. */
  def bytes: Long = held

  def size: Int = values.size

  /** The value of a key, which becomes the one used last. */
  def get(key: K): Option[V] = Option(values.get(key))

  /** Holds a value in place of the one of the same key. */
  def put(key: K, value: V): Unit = {
    Option(values.put(key, value)).foreach(replaced => held -= weigh(replaced))
    held += weigh(value)
  }

  /** Drops the values used least recently until the others weigh at most `most`. */
  def shrinkTo(most: Long): Unit = {
    val oldestFirst = values.values().iterator()
    while (held > most && oldestFirst.hasNext) {
      held -= weigh(oldestFirst.next())
      oldestFirst.remove()
    }
  }

  /** Drops the values of some keys. */
  def removeKeys(isGone: K => Boolean): Unit =
    values.entrySet().removeIf { entry =>
      val gone = isGone(entry.getKey)
      if (gone) held -= weigh(entry.getValue)
      gone
    }: Unit

  /** What the values of some keys weigh; the order of use stays. */
  def bytesOf(isCounted: K => Boolean): Long = {
    var sum = 0L
    values.forEach((key, value) => if (isCounted(key)) sum += weigh(value))
    sum
  }

  def clear(): Unit = {
    values.clear()
    held = 0
  }
}
