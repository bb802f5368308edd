// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.gc

import org.scalatest.funsuite.AnyFunSuite

/** IngestAdminTest has the queues of dropped tables; these are the roots that have no folder above them. */
class FormerQueuesTest extends AnyFunSuite {
  private val uuid = "00000000-0000-0000-0000-000000000001"

  Seq(s"/ingest/$uuid", s"s3://bucket/$uuid").foreach { root =>
    test(s"$root is not listed from above") {
      val former = new FormerQueues(null, root, "/warehouse/events")
      assert(former.all.isEmpty && former.pendingFiles.isEmpty)
    }
  }
}
