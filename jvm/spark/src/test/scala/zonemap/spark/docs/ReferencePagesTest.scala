package zonemap.spark.docs

import java.nio.file.{Files, Paths}

import org.scalatest.funsuite.AnyFunSuite

/** The committed reference pages say what the registries say. */
class ReferencePagesTest extends AnyFunSuite {
  ReferencePages.pages.foreach { case (name, text) =>
    test(s"docs/reference/$name is up to date (make docs)") {
      assert(Files.readString(Paths.get("docs", "reference", name)) == text)
    }
  }
}
