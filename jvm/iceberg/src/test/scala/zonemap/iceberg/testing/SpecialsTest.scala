// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.testing

import java.nio.ByteBuffer
import java.util.HexFormat

import org.scalatest.funsuite.AnyFunSuite

class SpecialsTest extends AnyFunSuite {

  /** A text that differs for NaN, for the two zeros and for bytes. */
  private def text(value: Any): String = value match {
    case bytes: ByteBuffer => HexFormat.of().formatHex(bytes.array())
    case other             => other.toString
  }

  RandomTable.types(formatVersion = 3).filter(Specials.of(_).nonEmpty).foreach { valueType =>
    test(s"random tables meet each special value of $valueType") {
      val rng = new Rng(7)
      val met = Set.fill(4000)(text(RandomValues.value(rng, valueType)))
      assert(Specials.of(valueType).map(text).filterNot(met) === Nil)
    }
  }

  test("every type but booleans and fixed bytes has special values") {
    val without = RandomTable.types(formatVersion = 3).filter(Specials.of(_).isEmpty).map(_.toString)
    assert(without === Seq("boolean", "fixed[4]"))
  }
}
