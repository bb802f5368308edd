// SPDX-License-Identifier: Apache-2.0
package zonemap.core.io

import org.scalatest.funsuite.AnyFunSuite

/** Values are evicted in the order of their last use, and the sum of their bytes is exact. */
class LruBytesTest extends AnyFunSuite {
  private def held(keys: String*): LruBytes[String, String] = {
    val lru = new LruBytes[String, String](_.length.toLong)
    keys.foreach(key => lru.put(key, key))
    lru
  }

  test("the value used least recently leaves first, until the others fit") {
    val lru = held("aaaa", "bbb", "cc", "d")
    assert(lru.bytes == 10 && lru.get("aaaa").contains("aaaa") && lru.get("x").isEmpty)
    lru.shrinkTo(9)
    assert(lru.get("bbb").isEmpty && lru.bytes == 7, "bbb was the oldest after aaaa was used")
    lru.shrinkTo(4)
    assert(lru.bytes == 4 && lru.get("aaaa").isDefined && lru.size == 1)
    lru.shrinkTo(3)
    assert(lru.bytes == 0 && lru.size == 0)
  }

  test("a replaced value counts once, and removed keys count no longer") {
    val lru = held("a", "bb", "cc")
    lru.put("a", "12345")
    assert(lru.bytes == 9 && lru.bytesOf(_ != "a") == 4 && lru.size == 3)
    lru.removeKeys(_.length == 2)
    assert(lru.bytes == 5 && lru.size == 1)
    lru.clear()
    assert(lru.bytes == 0 && lru.get("a").isEmpty)
  }

  test("recent values: new once, new again after others have pushed them out") {
    val recent = new RecentlySeen[Int](3)
    assert((1 to 3).forall(recent.add) && !recent.add(1) && recent.size == 3)
    assert(recent.add(4) && !recent.add(1), "1 was used after 2")
    assert(recent.add(2) && recent.size == 3)
  }
}
