// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.report

import org.scalatest.funsuite.AnyFunSuite

class LogFieldsTest extends AnyFunSuite {
  for ((value, text) <- Seq(
      "lake.db.t" -> "lake.db.t",
      "values(s)" -> "values(s)",
      "" -> "\"\"",
      "two words" -> "\"two words\"",
      "a=b" -> "\"a=b\"",
      """say "no" \ yes""" -> """"say \"no\" \\ yes"""",
      "line\nbreak" -> "\"line\\u000abreak\"",
      "ä" -> "\"ä\""
    ))
    test(s"a value as $text")(assert(LogFields.of(Seq("x" -> value, "n" -> 3)) == s"x=$text n=3"))
}
