// SPDX-License-Identifier: Apache-2.0
package zonemap.core.io

/**
 * A map in the order of last use that adds up the weights of its values. It evicts no value by itself: callers of `put`
 * call `shrinkTo`. Not thread-safe.
 *
 * @param weigh the weight of a value, which must not change while the map contains the value
 */
private[zonemap] final class LruBytes[K, V <: AnyRef](weigh: V => Long) {
  private val values = new java.util.LinkedHashMap[K, V](16, 0.75f, true)
  private var held = 0L

  /** The sum of the weights of all values. */
  def bytes: Long = held

  def size: Int = values.size

  /** The value of a key; it becomes the most recently used value. */
  def get(key: K): Option[V] = Option(values.get(key))

  /** Adds a value, or replaces the value with the same key. */
  def put(key: K, value: V): Unit = {
    Option(values.put(key, value)).foreach(replaced => held -= weigh(replaced))
    held += weigh(value)
  }

  /** Removes the least recently used values until the others weigh at most `most`. */
  def shrinkTo(most: Long): Unit = {
    val oldestFirst = values.values().iterator()
    while (held > most && oldestFirst.hasNext) {
      held -= weigh(oldestFirst.next())
      oldestFirst.remove()
    }
  }

  /** Removes the values of the keys that satisfy `isGone`. */
  def removeKeys(isGone: K => Boolean): Unit =
    values.entrySet().removeIf { entry =>
      val gone = isGone(entry.getKey)
      if (gone) held -= weigh(entry.getValue)
      gone
    }: Unit

  /** The weight of the values whose keys satisfy `isCounted`; the order of use does not change. */
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
