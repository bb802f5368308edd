// SPDX-License-Identifier: Apache-2.0
package zonemap.server.http

import java.io.ByteArrayOutputStream
import java.util.zip.GZIPOutputStream

import org.scalatest.funsuite.AnyFunSuite

class ReplyTest extends AnyFunSuite {

  test("an answer that the catalog has compressed is edited") {
    val zipped = new ByteArrayOutputStream
    val out = new GZIPOutputStream(zipped)
    out.write("abc".getBytes)
    out.close()
    val answer = Reply.of(200, Seq("Content-Encoding" -> "gzip", "etag" -> "1"), zipped.toByteArray)
    val edited = answer.edited(Limits())(bytes => bytes ++ "d".getBytes)
    assert(new String(edited.body.readAllBytes()) == "abcd" && edited.headers == Seq("etag" -> "1"))
  }
}
