// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.store

import java.nio.ByteBuffer

import org.scalatest.funsuite.AnyFunSuite

/** What one process knows of stores: nothing of it is another one's, and all of it is bounded. */
class StoreAccessTest extends AnyFunSuite {
  private def read(access: StoreAccess): Boolean = {
    var isFetched = false
    access.cold.read(ColdRange("mem://store", "a", 0, 8)) {
      isFetched = true
      ByteBuffer.allocate(8)
    }
    isFetched
  }

  test("a range that one process has fetched is fetched by another one too") {
    val (one, two) = (new StoreAccess, new StoreAccess)
    assert(read(one) && !read(one) && read(two))
    one.cold.clear()
    assert(read(one) && !read(two))
  }

  test("how long the requests to a store take is known for a bounded number of stores") {
    val access = new StoreAccess
    (1 to StoreRequests.MaxStores + 100).foreach(k => access.requests.timed(s"mem://store-$k")(Thread.onSpinWait()))
    assert(access.requests.storeCount == StoreRequests.MaxStores)
    assert(access.requests.usualNanos("mem://store-1") == 0 && access.requests.usualNanos("mem://store-1000") > 0)
    assert(new StoreAccess().requests.storeCount == 0)
  }
}
