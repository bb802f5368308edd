// SPDX-License-Identifier: Apache-2.0
package zonemap.docs

import java.nio.file.{Files, Paths}

import org.scalatest.funsuite.AnyFunSuite

/** The committed reference pages equal the pages generated from the registries. */
class ReferencePagesTest extends AnyFunSuite {
  ReferencePages.pages.foreach { case (name, text) =>
    test(s"docs/reference/$name is up to date (make docs)") {
      assert(Files.readString(Paths.get("docs", "reference", name)) == text)
    }
  }
}
