// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.table

import java.nio.file.{Files, Paths}

import org.scalatest.funsuite.AnyFunSuite

/** Codes are public: INGEST.md names each of them. */
class CodesTest extends AnyFunSuite {
  private lazy val text = Files.readString(Paths.get("docs/design/INGEST.md"))

  (RefusalCode.All ++ StopCode.All).distinct.foreach { code =>
    test(s"INGEST.md names the code $code") {
      assert(text.contains(s"`$code`"))
    }
  }

  test("a code stands for one reason") {
    assert(RefusalCode.All.distinct == RefusalCode.All && StopCode.All.distinct == StopCode.All)
  }
}
