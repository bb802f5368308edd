// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.queue

import java.util.Locale

import org.scalatest.funsuite.AnyFunSuite

import zonemap.ingest.record.Digits

class SpoolNamesTest extends AnyFunSuite {
  private val Nonce = "0123456789abcdef"

  Seq("gateway-7" -> 0L, "a b" -> 17L, "%" -> Long.MaxValue, ".." -> 1L).foreach { case (lane, seq) =>
    test(s"the path of record $seq of lane '$lane' names this record") {
      val path = SpoolNames.record(SpoolNames.Pending, lane, seq, Nonce)
      assert(SpoolNames.parse(SpoolNames.Pending, path, 5) == Some(RecordName(lane, seq, Nonce, 5)))
      assert(SpoolNames.parse(SpoolNames.Quarantine, path, 5).isEmpty)
    }
  }

  private val Record = s"${"0" * 19}7-$Nonce.rec"

  Seq(
    s"pending/$Record",
    s"pending//$Record",
    s"pending/a/b/$Record",
    s"pending/a/$Record/",
    s"pending/a%2f/$Record",
    s"pending-old/a/$Record",
    s"x/a/$Record",
    s"pending/a/.$Record",
    s"pending/a/${Record.drop(1)}",
    s"pending/a/0$Record",
    s"pending/a/${Record.replace('f', 'F')}",
    s"pending/a/${Record.replace('f', 'g')}",
    s"pending/a/${Record.replace('-', '_')}",
    s"pending/a/${Record.replace('7', '\u0667')}",
    s"pending/a/${Record.replace(".rec", ".why")}",
    s"pending/a/${"9" * 20}-$Nonce.rec",
    "pending/a/",
    "pending",
    ""
  ).foreach { path =>
    test(s"'$path' is no record") {
      assert(SpoolNames.parse(SpoolNames.Pending, path, 0).isEmpty)
    }
  }

  test("numbers have 20 digits in every locale, and a negative one is refused") {
    val before = Locale.getDefault
    try {
      Locale.setDefault(Locale.forLanguageTag("ar-EG-u-nu-arab"))
      assert(Digits.of(0) == "0" * 20)
      assert(Digits.of(Long.MaxValue) == "09223372036854775807")
      assert(Digits.hex8(0xab) == "000000ab" && Digits.hex8(0xffffffffL) == "ffffffff")
      intercept[IllegalArgumentException](Digits.of(-1)): Unit
    } finally Locale.setDefault(before)
  }
}
