// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{MetadataBuilder, StringType => SparkString, StructField, StructType}

import zonemap.core.Rng

/** Texts that Spark takes out of JSON: SOUNDNESS, S171. */
class JsonTextTest extends TextConditions {

  /** The predicate for JSON that has all parts or an escape of a character of ASCII. */
  private def json(parts: String*): String =
    s"s CONTAINS ${parts.map(part => s"'$part'").mkString(" AND ")} OR s CONTAINS '\\u00'"

  private def checkAlternatives(cases: (String, String)*): Unit =
    for (ansi <- Seq("true", "false"))
      withConf("spark.sql.ansi.enabled" -> ansi) {
        val wrong =
          cases.filterNot(isOfCollations).map { case (text, expected) => (text, expected, told(text)) }.filter {
            case (_, "", actual) => actual.contains("CONTAINS")
            case (_, expected, actual) =>
              val parts = actual.stripPrefix("s IS NOT NULL AND (").stripSuffix(")")
              !expected.split(" OR ").toSet.subsetOf(parts.split(" OR ").toSet)
          }
        assert(wrong.isEmpty, wrong.mkString("\n", "\n", "\n"))
      }

  test("a value by its path (S171)") {
    checkAlternatives(
      "get_json_object(s, '$.a') = 'xyz'" -> json("xyz"),
      "get_json_object(s, '$.a.b[0]') = 'xyz'" -> json("xyz"),
      "get_json_object(s, '$.a') IN ('xyz', 'pqs')" ->
        "s CONTAINS 'xyz' OR s CONTAINS '\\u00' OR s CONTAINS 'pqs'",
      "'xyz' = get_json_object(s, '$.a')" -> json("xyz"),
      "get_json_object(s, '$.a') <=> 'xyz'" -> json("xyz"),
      "get_json_object(s, '$.a') LIKE '%xyz_pqs%'" -> json("xyz", "pqs"),
      "get_json_object(s, '$.a[*].b') LIKE '%xyz%'" -> json("xyz"),
      "startswith(get_json_object(s, '$.a'), 'xyz')" -> json("xyz"),
      "endswith(get_json_object(s, '$.a'), 'xyz')" -> json("xyz"),
      "instr(get_json_object(s, '$.a'), 'xyz') > 0" -> json("xyz"),
      "get_json_object(s, '$.a') RLIKE 'xyz.*pqs'" -> json("xyz", "pqs"),
      "trim(get_json_object(s, '$.a')) = 'xyz'" -> json("xyz"),
      "get_json_object(trim(s), '$.a') = 'xyz'" -> json("xyz"),
      "coalesce(get_json_object(s, '$.a'), 'x') = 'xyz'" -> json("xyz"),
      "lower(get_json_object(s, '$.a')) = 'xyz'" ->
        "s CONTAINS 'xyz' IGNORING CASE OR s CONTAINS '\\u00'",
      // characters that can stand otherwise in the JSON
      "get_json_object(s, '$.a') = 'http://x.yz/uv?wx'" -> json("http", "x.yz", "uv", "wx"),
      "get_json_object(s, '$.a') = 'x\u00e9yz'" -> json("x", "yz"),
      "get_json_object(s, '$.a') = 'x\\'y'" -> json("x", "y"),
      "get_json_object(s, '$.a') = ' xyz  '" -> json("xyz"),
      "get_json_object(s, '$.a') = '{\"xyz\":1.5,\"pqs\":\"Infinity\"}'" -> json("xyz", "pqs"),
      "get_json_object(get_json_object(s, '$.a'), '$.b') = 'xyz'" -> "",
      "get_json_object(s, '$.a') <> 'xyz'" -> "",
      "get_json_object(s, '$.a') <> ''" -> "",
      "get_json_object(s, '$.a') > 'xyz'" -> "",
      "get_json_object(s, '$.a') IS NULL" -> "",
      "get_json_object(s, '$.a') IS NOT NULL" -> "",
      "NOT (get_json_object(s, '$.a') = 'xyz')" -> "",
      "NOT (get_json_object(s, '$.a') LIKE '%xyz%')" -> "",
      "coalesce(get_json_object(s, '$.a'), 'xyz') = 'xyz'" -> "",
      "get_json_object(s, '$.a') = '\u00e9\u4e2d'" -> "",
      "get_json_object(s, '$.a') IN ('xyz', '\u00e9')" -> "",
      "get_json_object(s, concat('$.', i)) = 'xyz'" -> "",
      "get_json_object('xyz', s) = 'xyz'" -> "",
      "get_json_object(s COLLATE UTF8_LCASE, '$.a') = 'xyz'" -> "",
      "get_json_object(s, '$.a') COLLATE UTF8_LCASE = 'xyz'" -> ""
    )
  }

  test("a value that can be a number (S171)") {
    checkAlternatives(
      "get_json_object(s, '$.a') = '12345'" -> json("12345"),
      "get_json_object(s, '$.a') = '-12345'" -> json("-12345"),
      "get_json_object(s, '$.a') = '2026-01-31'" -> json("2026-01-31"),
      "get_json_object(s, '$.a') = '10.20.30.40'" -> json("10.20.30.40"),
      "get_json_object(s, '$.a') = 'x, 12345'" -> json("x", "12345"),
      "get_json_object(s, '$.a') LIKE '%2026-01-31%'" -> json("-01-31"),
      "get_json_object(s, '$.a') = '1.50'" -> "",
      "get_json_object(s, '$.a') = '1.5E10'" -> "",
      "get_json_object(s, '$.a') = '-1E-7'" -> "",
      "get_json_object(s, '$.a') = 'Infinity'" -> "",
      "get_json_object(s, '$.a') = 'NaN'" -> "",
      "get_json_object(s, '$.a') LIKE '%12345%'" -> "",
      "get_json_object(s, '$.a') LIKE '%nfinit%'" -> "",
      "trim(get_json_object(s, '$.a')) = '12345'" -> "",
      "get_json_object(s, '$.a') = '[12345,678]'" -> ""
    )
  }

  test("a part of a value that can begin within an escape (S171)") {
    checkAlternatives(
      Seq("n", "r", "t", "b", "f", "u001f", "001F", "01b", "1e", "c", "0", "u00", "u", "uD83D", "83d").map { end =>
        s"get_json_object(s, '$$.a') LIKE '%${end}xyz%'" -> json("xyz")
      } :+ ("get_json_object(s, '$.a') LIKE '%timeout%'" -> json("imeout")) :+
        ("get_json_object(s, '$.a') = 'timeout'" -> json("timeout")) :+
        ("get_json_object(s, '$.a') = '[\"timeout\"]'" -> json("imeout")) :+
        ("get_json_object(s, '$.a') LIKE '%u001%'" -> ""): _*)
    assert(valueOf("get_json_object(s, '$.a')", "{\"a\":[\"\n\u0001nxyz\"]}").contains("[\"\\n\\u0001nxyz\"]"))
    for (value <- valueOf("get_json_object(s, '$.a')", "{\"a\":[\"\\ud83dxyz\"]}")) assert(value == "[\"\\uD83Dxyz\"]")
  }

  test("a field of parsed JSON (S171)") {
    checkAlternatives(
      "from_json(s, 'a STRING').a = 'xyz'" -> json("xyz"),
      "from_json(s, 'a STRING, b INT').a IN ('xyz', 'xyz pqs')" ->
        "s CONTAINS 'xyz' OR s CONTAINS '\\u00' OR s CONTAINS 'xyz pqs'",
      "from_json(s, 'a STRING, b DATE').a LIKE '%xyz%'" -> json("xyz"), // Spark drops b
      "from_json(s, 'a STRUCT<b: STRING, c: DOUBLE>').a.b = 'xyz'" -> json("xyz"),
      "startswith(from_json(s, 'a STRING').a, 'xyz')" -> json("xyz"),
      "from_json(s, 'a STRING').a = '12345'" -> json("12345"),
      "from_json(s, 'a STRING').a <> 'xyz'" -> "",
      "from_json(s, 'a STRING').a IS NULL" -> "",
      "from_json(s, 'a STRING') IS NULL" -> "",
      "from_json(s, 'a INT').a = 12345" -> "",
      "from_json(s, 'a ARRAY<STRING>').a[0] = 'xyz'" -> "",
      "from_json(s, 'a STRING', map('mode', 'FAILFAST')).a = 'xyz'" -> "",
      "from_json(s, 'a STRING', map('allowComments', 'true')).a = 'xyz'" -> "",
      "from_json(s, 'a STRING COLLATE UTF8_LCASE').a = 'xyz' COLLATE UTF8_LCASE" -> "",
      "from_json(s COLLATE UTF8_LCASE, 'a STRING').a = 'xyz'" -> "",
      // what fails for some row, which Spark must report
      "from_json(s, 'a STRUCT<b: STRING, c: DATE>').a.b = 'xyz'" -> "",
      "from_json(s, 'a STRUCT<b: STRING, c: MAP<STRING, INT>>').a.b = 'xyz'" -> "",
      "from_json(s, '_corrupt_record STRING')._corrupt_record = 'xyz'" -> ""
    )
  }

  test("a field that has a default is not in the JSON (S171)") {
    val text = AttributeReference("s", SparkString)()
    def sources(field: StructField) = {
      val parsed = JsonToStructs(StructType(Seq(field)), Map.empty, text, Some("UTC"))
      JsonText.unapply(GetStructField(parsed, 0))
    }
    val default = new MetadataBuilder().putString("EXISTS_DEFAULT", "'xyz'").build()
    assert(sources(StructField("a", SparkString)).contains(text))
    assert(sources(StructField("a", SparkString, nullable = true, default)).isEmpty)
  }

  test("how Spark writes numbers (S171)") {
    for (number <- Seq("1.5E1", "15e0", "150E-1", "1.50e+1", "15.0", "15.00", "1e15", "1.5E100", "1e400"))
      for (piece <- Seq("get_json_object(s, '$.a')", "get_json_object(s, '$.a[*]')", "from_json(s, 'a STRING').a"))
        for (text <- Seq(number, s"-$number", s"[$number]"); found <- valueOf(piece, s"""{"a":$text}"""))
          assert(!found.matches("\\[?-?[0-9]+\\]?"), (piece, text))
    for (number <- Seq("0", "15", "-15", "12345678901", "123456789012345678901234567890"))
      assert(valueOf("get_json_object(s, '$.a')", s"""{"a": $number }""").contains(number))
  }

  for (ansi <- Seq(true, false))
    test(s"random conditions leave out no JSON for which they are TRUE or fail, ANSI $ansi (S171)") {
      val found = new Outcomes
      withConf("spark.sql.ansi.enabled" -> ansi.toString) {
        rounds(1500) { rng =>
          val piece = rng.pick(JsonTextTest.Pieces)
          val text = JsonTextTest.json(rng)
          val outer = if (rng.chance(80)) "TEXT" else rng.pick(JsonTextTest.Outer)
          val wanted = conditionOn(piece, outer, text, rng)
          checkAll(wanted, Seq(text, JsonTextTest.json(rng), "").map(stored(_, rng)), found)
        }
      }
      assert(found.matched > 300 && found.excluded > 150, (found.matched, found.failed, found.excluded))
    }
}

private object JsonTextTest {

  val Pieces: Seq[String] =
    Seq("$", "$.a", "$.a.b", "$.a[0]", "$.a[*]", "$.a[*].b", "$.a[*][*]", "$.*", "$[*]", "$[0].a")
      .map(path => s"get_json_object(s, '$path')") ++ Seq(
      "get_json_object(s, '$[\\'a\\']')",
      "get_json_object(get_json_object(s, '$.a'), '$.b')",
      "from_json(s, 'a STRING').a",
      "from_json(s, 'b INT, a STRING').a",
      "from_json(s, 'a STRUCT<a: DOUBLE, b: STRING>').a.b",
      "from_json(s, 'a STRUCT<b: STRUCT<a: STRING, b: BOOLEAN>>').a.b.a"
    )

  val Outer: Seq[String] = Seq(
    "trim(TEXT)",
    "lower(TEXT)",
    "upper(TEXT)",
    "split(TEXT, ',')[0]",
    "split_part(TEXT, '\"', 2)",
    "substring(TEXT, 2)",
    "regexp_extract(TEXT, '(a)(.*)b?c', 2)"
  )

  private val Characters = Seq("a", "b", "nu", "t0", "1.5", "fE-", "hello", "xyz", "world ", "-7") ++
    Seq("\\n", "\\t", "\\u000a", "\\u001f", "\\u0061", "\\u0030", "\\u00e9", "\\u4E2D", "\\ud83d\\ude00", "\\ud83d") ++
    Seq(
      "\\\"",
      "\\\\",
      "\\/",
      "\\'",
      "\\x",
      "\\u0",
      "/",
      "'",
      "\n",
      "\u0001",
      "\u001f",
      "\u007f",
      "\u00e9",
      "\ud83d\ude00") ++
    Seq("\ufffd", "?", ",", ":", "{", "[", "]", "\u2028", "\ufeff")

  private val Scalars =
    Seq("12", "-12", "1.50", "-0", "0.001", "1e3", "1.2E1", "15E-1", "1e999", "-1e400", "0012", "+1") ++
      Seq(
        "123456789012345678901",
        "1.00000000000000000001",
        "true",
        "false",
        "null",
        "NaN",
        "INF",
        "-INF",
        "Infinity",
        "nul")

  /** JSON that is well-formed most often. */
  def json(rng: Rng): String = {
    val whole = value(rng, 4)
    val text = if (whole.startsWith("{") || rng.chance(20)) whole else s"{${space(rng)}'a'${space(rng)}:$whole}"
    if (rng.chance(90)) text
    else if (rng.chance(50)) text.take(rng.int(text.length + 1))
    else text + rng.pick(Seq("}", " {", "x", "\ufeff"))
  }

  private def value(rng: Rng, depth: Int): String = {
    def many(one: => String) = Seq.fill(rng.int(4))(one).mkString(space(rng) + "," + space(rng))
    if (depth == 0 || rng.chance(45)) text(rng)
    else if (rng.chance(25)) rng.pick(Scalars)
    else if (rng.chance(65))
      s"{${many(s"${name(rng)}${space(rng)}:${space(rng)}${value(rng, depth - 1)}")}}"
    else s"[${many(value(rng, depth - 1))}]"
  }

  private def name(rng: Rng): String =
    if (rng.chance(85)) rng.pick(Seq("\"a\"", "\"b\"", "'a'", "\"\\u0061\"")) else text(rng)

  private def text(rng: Rng): String = {
    val quote = if (rng.chance(85)) "\"" else "'"
    val plain = if (rng.chance(50)) 10 else Characters.size
    quote + Seq.fill(rng.int(7))(Characters(rng.int(plain))).mkString + quote
  }

  private def space(rng: Rng): String = if (rng.chance(80)) "" else rng.pick(Seq(" ", "\n ", "\t"))
}
