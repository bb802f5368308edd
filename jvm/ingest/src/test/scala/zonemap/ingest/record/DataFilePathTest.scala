// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.record

import org.scalatest.funsuite.AnyFunSuite

class DataFilePathTest extends AnyFunSuite {
  Seq(
    "the only field" -> """{"file-path":"s3://b/a"}""",
    "behind other fields" -> """{"spec-id":0,"partition":{"1000":"file-path"},"split-offsets":[4],"file-path":"s3://b/a"}""",
    "a field of an inner object is not meant" -> """{"file-path":"s3://b/a","partition":{"file-path":"s3://b/c"}}""",
    "of a repeated field, the last one counts" -> """{"file-path":"s3://b/c","file-path":"s3://b/a","content":"DATA"}""",
    "with escapes" -> """{"file-path":"s3:\/\/b\/a"}"""
  ).foreach { case (name, json) =>
    test(s"the location: $name") {
      assert(DataFilePath.of(QueuedFile(0, json)) == "s3://b/a")
    }
  }

  Seq("""{}""", """{"file-path":null}""", """{"file-path":7}""", """["file-path"]""", """{"a":{"file-path":"b"}}""")
    .foreach { json =>
      test(s"$json has no location") {
        assert(intercept[IllegalArgumentException](DataFilePath.of(QueuedFile(0, json))).getMessage.contains(json))
      }
    }
}
