// SPDX-License-Identifier: Apache-2.0
package zonemap.core.io

import java.nio.charset.StandardCharsets.UTF_8

import org.scalatest.funsuite.AnyFunSuite

/** The digests in the names of stored files and of cached ranges. */
class ChecksumsTest extends AnyFunSuite {

  test("the digits of SHA-256 are those of the standard's example, from the first on") {
    val digits = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert(Checksums.sha256("abc") == digits)
    assert(Checksums.sha256("abc", 16) == digits.take(32))
    assert(Checksums.contentHash("abc".getBytes(UTF_8)) == digits.take(16))
  }
}
