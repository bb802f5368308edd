// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import java.util.Locale

import org.apache.spark.sql.catalyst.{FunctionIdentifier, InternalRow}
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{StringType => SparkString}
import org.apache.spark.unsafe.types.UTF8String

import zonemap.core.Rng
import zonemap.core.predicate.ValueRanges
import zonemap.core.value.{BytesValue, ZoneValues}

/** Conditions on texts: the parts that they need, and that no text for which one is TRUE, or fails, lacks them. */
class TextPartsTest extends TextConditions {

  test("a position at which a text has a part (S153)") {
    for (ansi <- Seq(true, false))
      check(ansi)(
        "instr(s, 'abc') > 0" -> "s CONTAINS 'abc'",
        "instr(s, 'abc') >= 1" -> "s CONTAINS 'abc'",
        "instr(s, 'abc') <> 0" -> "s CONTAINS 'abc'",
        "instr(s, 'abc') = 7" -> "s CONTAINS 'abc'",
        "instr(s, 'abc') IN (1, 9)" -> "s CONTAINS 'abc'",
        "0 < locate('abc', s)" -> "s CONTAINS 'abc'",
        "locate('abc', s, 4) > 3" -> "s CONTAINS 'abc'",
        "position('abc' IN s) > 0" -> "s CONTAINS 'abc'",
        "position('abc', s) BETWEEN 1 AND 5" -> "s CONTAINS 'abc'",
        "NOT (instr(s, 'abc') = 0)" -> "s CONTAINS 'abc'",
        "if(instr(s, 'abc') > 0, i, 0) = 3" -> "i IN [3, 4) AND s CONTAINS 'abc'",
        "instr(s, 'abc') >= 0" -> "",
        "instr(s, 'abc') = 0" -> "",
        "instr(s, 'abc') < 5" -> "",
        "instr(s, 'abc') IN (0, 5)" -> "",
        "instr(s, 'abc') IS NULL" -> "",
        "coalesce(instr(s, 'abc'), 1) > 0" -> "",
        "NOT (instr(s, 'abc') > 0)" -> "",
        "instr(s, '') > 0" -> "",
        "instr('abc', s) > 0" -> "",
        "locate(s, 'abc') > 0" -> "",
        "instr(s COLLATE UTF8_LCASE, 'abc') > 0" -> ""
      )
  }

  test("pieces of a text (S153)") {
    for (ansi <- Seq(true, false))
      check(ansi)(
        "split(s, ',')[0] = 'abc'" -> "s CONTAINS 'abc'",
        "split(s, '[,;]')[0] LIKE '%abc%'" -> "s CONTAINS 'abc'",
        "element_at(split(s, ','), 1) = 'abc'" -> "s CONTAINS 'abc'",
        "element_at(split(s, ','), -1) = 'abc'" -> "s CONTAINS 'abc'",
        "try_element_at(split(s, ','), 3) = 'abc'" -> "s CONTAINS 'abc'",
        "get(split(s, ','), 3) = 'abc'" -> "s CONTAINS 'abc'",
        "split_part(s, ',', 2) = 'abc'" -> "s CONTAINS 'abc'",
        "split_part(s, ',', 2) IN ('abc', 'def')" -> "s CONTAINS 'abc' OR s CONTAINS 'def'",
        "array_contains(split(s, ','), 'abc')" -> "s CONTAINS 'abc'",
        "substring_index(s, ',', 1) = 'abc'" -> "s CONTAINS 'abc'",
        "substring_index(s, ',', i) = 'abc'" -> "s CONTAINS 'abc'",
        "substring(s, 3, 4) = 'abc'" -> "s CONTAINS 'abc'",
        "substring(s, 3) LIKE 'abc%'" -> "s CONTAINS 'abc'",
        "left(s, 3) = 'abc'" -> "s IN ['abc', 'abd') AND s CONTAINS 'abc'",
        "right(s, 3) = 'abc'" -> "s CONTAINS 'abc'",
        "trim(s) = 'abc'" -> "s CONTAINS 'abc'",
        "ltrim('x', s) = 'abc'" -> "s CONTAINS 'abc'",
        "rtrim(s) = 'abc'" -> "s CONTAINS 'abc'",
        "btrim(s, 'x') = 'abc'" -> "s CONTAINS 'abc'",
        "trim(split(s, ',')[0]) = 'abc'" -> "s CONTAINS 'abc'",
        "instr(trim(s), 'abc') > 0" -> "s CONTAINS 'abc'",
        "coalesce(trim(s), 'x') = 'abc'" -> "s CONTAINS 'abc'",
        // bytes that no Java string has, and halves of a character (S164)
        "element_at(split(s, '(?!^)', 2), -1) = '?abc'" -> "s CONTAINS 'abc'",
        "array_contains(split(s, '(?!^)'), 'b?c')" -> "s CONTAINS 'b' AND 'c'",
        "array_contains(split(s, '(?!^)'), '?')" -> "",
        "lower(get(split(s, '(?!^)', 2), 1)) = 'a?b'" -> "s CONTAINS 'a' AND 'b' IGNORING CASE",
        "regexp_extract(s, '(.*)', 1) = 'a\ufffdbc'" -> "s CONTAINS 'a' AND 'bc'",
        "s LIKE '%ab\ufffdcd_e%'" -> "s CONTAINS 'ab' AND 'cd' AND 'e'",
        "trim(s) = 'a?\ufffd'" -> "s CONTAINS 'a?\ufffd'",
        "trim(s) <> 'abc'" -> "",
        "trim(s) > 'abc'" -> "",
        "trim(s) = ''" -> "",
        "split_part(s, ',', 2) IN ('abc', '')" -> "",
        "NOT (trim(s) = 'abc')" -> "",
        "NOT (trim(s) LIKE 'abc%')" -> "",
        "NOT (trim(s) LIKE '%abc%')" -> "",
        "split(s, ',') = array('abc')" -> "",
        "array_contains(split('abc', ','), s)" -> "",
        "replace(s, 'x') = 'abc'" -> "",
        "trim(s COLLATE UTF8_LCASE) = 'abc'" -> "",
        "split(s COLLATE UTF8_LCASE, ',')[0] = 'abc'" -> "",
        "concat(s, s) = 'abcabc'" -> "",
        "trim(i) = 'abc'" -> "",
        "reverse(s) = 'abc'" -> "",
        // what fails for some row, which Spark must report
        "split_part(s, ',', 0) = 'abc'" -> "",
        "element_at(split(s, ','), 0) = 'abc'" -> "",
        "split(s, '[')[0] = 'abc'" -> "",
        "substring(s, 10 DIV i) = 'abc'" -> ""
      )
    // a text that has too few pieces is an error in ANSI mode only
    check(ansi = false)(
      "split(s, ',')[3] = 'abc'" -> "s CONTAINS 'abc'",
      "element_at(split(s, ','), 2) = 'abc'" -> "s CONTAINS 'abc'")
    check(ansi = true)("split(s, ',')[3] = 'abc'" -> "", "element_at(split(s, ','), 2) = 'abc'" -> "")
  }

  /** Whether this Spark has the function `try_parse_url`: Spark 3.5 does not. */
  private def hasTryParseUrl: Boolean =
    FunctionRegistry.builtin.functionExists(FunctionIdentifier("try_parse_url"))

  test("parts of a URL (S172)") {
    val parts = Seq(
      "parse_url(s, 'HOST') = 'abc'" -> "s CONTAINS 'abc'",
      "parse_url(s, 'FILE') LIKE '%/abc?_=1'" -> "s CONTAINS '/abc' AND '=1'",
      "parse_url(s, s) = 'abc'" -> "s CONTAINS 'abc'",
      "parse_url(s, 'QUERY', 'k_1') IN ('abc', 'def')" -> "s CONTAINS 'abc' OR s CONTAINS 'def'",
      "lower(parse_url(s, 'HOST')) = 'abc'" -> "s CONTAINS 'abc' IGNORING CASE",
      "parse_url(s, 'HOST') <> 'abc'" -> "",
      "parse_url(s, 'HOST') IS NULL" -> "",
      "parse_url('abc', s) = 'abc'" -> "",
      // what fails for some row, which Spark must report
      "parse_url(s, substring(s, 10 DIV i)) = 'abc'" -> "",
      "parse_url(s, 'QUERY', '(') = 'abc'" -> "",
      "parse_url(s, 'QUERY', s) = 'abc'" -> ""
    )
    check(ansi = false)(parts: _*)
    check(ansi = true)(parts.map(_._1 -> ""): _*)
    if (hasTryParseUrl)
      for (ansi <- Seq(true, false))
        check(ansi)(parts.map { case (text, part) => text.replace("parse_url", "try_parse_url") -> part }: _*)
  }

  test("a text and a range of texts need no part") {
    val trimmed = StringTrim(AttributeReference("s", SparkString)())
    def alternatives(ranges: ValueRanges) =
      TextParts.whenIn(trimmed, Wanted(ranges, nan = false, nulls = false)).map(_.alternatives.size)
    val text = ValueRanges.point(ZoneValues.ofString("abc"))
    assert(alternatives(text).contains(1))
    assert(alternatives(text.union(ValueRanges.point(ZoneValues.ofString("def")))).contains(2))
    assert(alternatives(text.union(ValueRanges.between(ZoneValues.ofString("x"), null))).isEmpty)
  }

  test("the literal parts of a pattern (S154)") {
    val none = Seq[String]()
    Seq(
      "abc" -> Seq("abc"),
      "^abc$" -> Seq("abc"),
      "abc.*def" -> Seq("abc", "def"),
      "user=(\\w+);" -> Seq("user=", ";"),
      "(abc)(?:def)(?<n>ghi)" -> Seq("abc", "def", "ghi"),
      "(abc)+x" -> Seq("abc", "x"),
      "abc+d" -> Seq("abc", "d"),
      "abc++d" -> Seq("abc", "d"),
      "abc?d" -> Seq("ab", "d"),
      "abc??d" -> Seq("ab", "d"),
      "abc*d" -> Seq("ab", "d"),
      "abc{0,2}d" -> Seq("ab", "d"),
      "a\\.b\\*?c" -> Seq("a.b", "c"),
      "ab\u00e9?\u00e9" -> Seq("ab", "\u00e9"),
      "\ud83d\ude00x\ud83d\ude00?" -> Seq("\ud83d\ude00x"),
      "a[bc]d[^\\]e]f" -> Seq("a", "d", "f"),
      "a]b}c" -> Seq("a]b}c"),
      "(abc)?x(def)*y(ghi){0}" -> Seq("x", "y"),
      "(abc|def)ghi" -> Seq("ghi"),
      "(a(b|c)d)ghi" -> Seq("a", "d", "ghi"),
      "(?=abc)(?!def)(?<=ghi)(?<!jkl)(?>mno)xyz" -> Seq("xyz"),
      "a\\?b\ufffdc" -> Seq("a", "b", "c"),
      "{2}abc" -> none,
      "abc{1}{2}" -> none,
      "(?:{2}abc)" -> none,
      "a+{2}b" -> none,
      "abc|def" -> none,
      "abc|" -> none,
      "(?i)abc" -> none,
      "abc(?i:def)" -> none,
      "(?x)a b" -> none,
      "\\Qa.b\\E" -> none,
      "(a)bc\\1" -> none,
      "\\x41bc" -> none,
      "\\u0041bc" -> none,
      "\\cAbc" -> none,
      "\\p{L}abc" -> none,
      "a[b[c]]d" -> none,
      "a[b&&[c]]d" -> none,
      "a[]b]c" -> none,
      "a[\\c]b]c" -> none,
      "a[\\u005d]b]c" -> none,
      "" -> none
    ).foreach { case (pattern, expected) =>
      val found = RegexParts.of(pattern).get.parts.map(p => new String(p.bytes, "UTF-8"))
      assert(found == expected, pattern)
    }
    Seq("abc(", "abc[", "*abc", "abc{1", "abc)", "a" * 1001).foreach(p => assert(RegexParts.of(p).isEmpty, p))
  }

  test("conditions with patterns (S154)") {
    for (ansi <- Seq(true, false))
      check(ansi)(
        "s RLIKE 'abc.*def'" -> "s CONTAINS 'abc' AND 'def'",
        "regexp(s, 'abc+')" -> "s CONTAINS 'abc'",
        "regexp_like(trim(s), '^abc')" -> "s CONTAINS 'abc'",
        "regexp_instr(s, 'abc') > 0" -> "s CONTAINS 'abc'",
        "regexp_count(s, 'abc') >= 2" -> "s CONTAINS 'abc'",
        "regexp_count(s, 'abc') <> 0" -> "s CONTAINS 'abc'",
        "regexp_extract(s, 'user=([a-z]+)', 1) = 'abc'" -> "s CONTAINS 'abc' AND 'user='",
        "regexp_extract(s, 'user=([a-z]+)') <> ''" -> "s CONTAINS 'user='",
        "regexp_extract(s, 'user=([a-z]+)') IN ('abc', 'def')" ->
          "s CONTAINS 'abc' AND 'user=' OR s CONTAINS 'def' AND 'user='",
        "regexp_extract(s, 'user=([a-z]+)', 1) LIKE 'abc%'" -> "s CONTAINS 'abc' AND 'user='",
        "regexp_substr(s, 'user=[a-z]+') = 'user=abc'" -> "s CONTAINS 'user=abc' AND 'user='",
        "regexp_extract(s, 'user=([a-z]*)') = ''" -> "",
        "regexp_extract(s, 'user=([a-z]+)') <> 'abc'" -> "",
        "regexp_instr(s, 'abc') >= 0" -> "",
        "regexp_count(s, 'abc') = 0" -> "",
        "s NOT RLIKE 'abc'" -> "",
        "s RLIKE '(?i)abc'" -> "",
        "s RLIKE s" -> "",
        "s COLLATE UTF8_LCASE RLIKE 'abc'" -> "",
        "regexp_extract(s COLLATE UTF8_LCASE, 'abc', 0) = 'abc'" -> "",
        // what fails for some row, which Spark must report
        "s RLIKE 'abc('" -> "",
        "regexp_extract(s, 'user=([a-z]+)', 2) = 'abc'" -> "",
        "regexp_extract(s, 'user=([a-z]+)', -1) = 'abc'" -> ""
      )
    withConf("spark.sql.ansi.enabled" -> "false", "spark.sql.legacy.sizeOfNull" -> "true") {
      assert(told("size(regexp_extract_all(s, 'abc', 0)) > 0").contains("CONTAINS"))
      assert(!told("size(regexp_extract_all(s, 'abc', 0)) <> 0").contains("CONTAINS"))
    }
  }

  test("texts of any case (S155)") {
    for (ansi <- Seq(true, false); icu <- Seq("true", "false"))
      withConf("spark.sql.icu.caseMappings.enabled" -> icu) {
        check(ansi)(
          "s ILIKE '%Abc%'" -> "s CONTAINS 'abc' IGNORING CASE",
          "lower(s) LIKE '%abc%'" -> "s CONTAINS 'abc' IGNORING CASE",
          "lower(s) = 'abc'" -> "s CONTAINS 'abc' IGNORING CASE",
          "lower(s) IN ('abc', 'def')" -> "s CONTAINS 'abc' IGNORING CASE OR s CONTAINS 'def' IGNORING CASE",
          "contains(lower(s), 'timeout 503')" -> "s CONTAINS 't' AND 'meout 503' IGNORING CASE",
          "lower(s) LIKE 'abc%'" -> "s CONTAINS 'abc' IGNORING CASE",
          "lower(s) RLIKE 'abc.?def'" -> "s CONTAINS 'abc' AND 'def' IGNORING CASE",
          "instr(lower(s), 'b\u00e9c') > 0" -> "s CONTAINS 'b' AND 'c' IGNORING CASE",
          "lower(s) LIKE '%desk%'" -> "s CONTAINS 'des' IGNORING CASE",
          "upper(s) LIKE '%CODE 7%'" -> "s CONTAINS 'CODE 7' IGNORING CASE",
          "upper(s) = 'ERROR-FATAL'" -> "s CONTAINS 'ERROR-' IGNORING CASE",
          "trim(lower(s)) = 'abc'" -> "s CONTAINS 'abc' IGNORING CASE",
          "lower(trim(s)) = 'abc'" -> "s CONTAINS 'abc' IGNORING CASE",
          "lower(regexp_extract(s, 'User=(.*)', 1)) = 'abc'" ->
            "s CONTAINS 'User=' AND s CONTAINS 'abc' IGNORING CASE",
          "upper(lower(s)) = 'CODE'" -> "s CONTAINS 'CODE' IGNORING CASE", // Spark drops lower
          "upper(trim(lower(s))) = 'CODE'" -> "",
          "lower(s) LIKE '%ik%'" -> "",
          "lower(s) IN ('ik', 'abc')" -> "",
          "lower(s) IN ('abc', 'ik')" -> "",
          "upper(s) LIKE '%FINALLY%'" -> "",
          "lower(s) NOT LIKE '%abc%'" -> "",
          "lower(s) <> 'abc'" -> "",
          "initcap(s) = 'Abc'" -> "",
          "lower(s COLLATE UTF8_LCASE) LIKE '%abc%'" -> ""
        )
      }
  }

  /** Both functions of Spark, each with the confs of a case mapping: those of ICU and of Java, if Spark has both. */
  private lazy val functions: Seq[(CaseMapping, Expression, SQLConf)] = for {
    icu <- if (MinorExpressions.caseMappingConf.isEmpty) Seq(false) else Seq(true, false)
    text = BoundReference(0, SparkString, nullable = false)
    (mapping, function) <- Seq(CaseMapping.ToLower -> Lower(text), CaseMapping.ToUpper -> Upper(text))
  } yield {
    val confs = new SQLConf
    MinorExpressions.caseMappingConf.foreach(confs.setConfString(_, icu.toString))
    (mapping, function, confs)
  }

  /** The results of both functions of Spark, and of Java in languages that have mappings of their own. */
  private def results(text: String): Seq[(CaseMapping, String)] = {
    val row = InternalRow(UTF8String.fromString(text))
    val ofSpark = functions.map { case (mapping, function, confs) =>
      mapping -> SQLConf.withExistingConf(confs)(function.eval(row).toString)
    }
    val ofJava = Seq("tr", "az", "lt", "el", "hy", "nl").map(Locale.forLanguageTag).flatMap { language =>
      Seq(CaseMapping.ToLower -> text.toLowerCase(language), CaseMapping.ToUpper -> text.toUpperCase(language))
    }
    ofSpark ++ ofJava
  }

  test("what has case mappings of its own: no other character becomes one of those that parts have (S155)") {
    val codes = (0 to Character.MAX_CODE_POINT).filter(c => c < Character.MIN_SURROGATE || c > Character.MAX_SURROGATE)
    val uncertain = scala.collection.mutable.Set.empty[(CaseMapping, Char)]
    for (code <- codes; text = Character.toString(code); (mapping, result) <- results(text); c <- result if c < 0x80) {
      val isOwn = result.length == 1 && code < 0x80 && Character.toLowerCase(code) == Character.toLowerCase(c.toInt)
      if (!isOwn) uncertain += mapping -> c.toLower
      assert(isOwn || !mapping.isCertain(c.toByte), s"$code becomes $result")
    }
    def letters(mapping: CaseMapping) = uncertain.collect { case (`mapping`, c) => c }.toSeq.sorted.mkString
    assert(letters(CaseMapping.ToLower) == "ik" && letters(CaseMapping.ToUpper) == "afhijlnstwy")
  }

  test("a part of a text in another case is in the text, among letters with mappings of their own (S155)") {
    val special = Seq(
      "\u0130",
      "\u0131",
      "\u212a",
      "\u017f",
      "\u00df",
      "\ufb01",
      "\u0149",
      "\u01f0",
      "\u03a3",
      "\u0307",
      "\u0301",
      "\u1e96",
      "\u00c5",
      "\u012e",
      "\u03ac")
    rounds(2000) { rng =>
      val text = pick(rng, special ++ "aAbBcCiIjJkKsS1 -".map(_.toString), 12)
      for ((mapping, result) <- results(text)) {
        val from = rng.int(result.length + 1)
        val part = result.substring(from, from + rng.int(result.length - from + 1))
        for (source <- mapping.sources(TextPart(BytesValue(part.getBytes("UTF-8"))))) {
          val sought = new String(source.bytes.bytes, "UTF-8")
          assert(ascii(text).contains(ascii(sought)), s"'$sought' of '$part' of '$text'")
        }
      }
    }
  }

  /** The text with its letters from A to Z in lower case. */
  private def ascii(text: String): String = text.map(c => if ('A' <= c && c <= 'Z') (c + 32).toChar else c)

  test("a condition with many texts is not searched for parts") {
    def among(count: Int) = told((1 to count).map(k => s"'text $k'").mkString("trim(s) IN (", ", ", ")"))
    assert(among(900).contains("CONTAINS") && !among(1100).contains("CONTAINS"))
    def several(count: Int) = (1 to count).map(k => s"trim(s) = 'text $k'").mkString(" AND i = 1 OR ")
    assert(told(several(3)).contains("CONTAINS"))
  }

  /** A random condition on a text, most often about a piece that the text has. */
  private def condition(text: String, rng: Rng): String = {
    val from = rng.int(text.length + 1)
    val own = text.substring(from, from + rng.int(text.length - from + 1))
    val part = if (rng.chance(80)) own else own.reverse
    val n = rng.pick(Seq(-2, -1, 1, 2, 3))
    val piece = rng.pick(TextPartsTest.Pieces).replace("N", n.toString)
    val outer =
      if (rng.chance(70)) piece else rng.pick(TextPartsTest.Pieces).replace("N", n.toString).replace("(s", s"($piece")
    val test = rng.pick(TextPartsTest.Tests).replace("PART", part)
    test.replace("TEXT", if (rng.chance(30)) "s" else outer)
  }

  for (ansi <- Seq(true, false))
    test(s"random conditions leave out no text for which they are TRUE or fail, ANSI $ansi") {
      val found = new Outcomes
      withConf("spark.sql.ansi.enabled" -> ansi.toString) {
        rounds(400) { rng =>
          val characters =
            Seq("a", "b", "c", ",", " ", "A", "\u00e9", "ab", "1", "K", "\u212a", "\u0130", "B", "dec") ++
              Seq("?", "\ud83d\ude00", "\ufffd")
          val text = pick(rng, characters, 9)
          checkAll(condition(text, rng), Seq(text, pick(rng, characters, 9), "").map(stored(_, rng)), found)
        }
      }
      assert(found.matched > 200 && found.excluded > 200, (found.matched, found.failed, found.excluded))
      if (ansi) assert(found.failed > 0)
    }

  for (ansi <- Seq(true, false))
    test(s"random conditions leave out no URL for which they are TRUE or fail, ANSI $ansi (S172)") {
      val found = new Outcomes
      withConf("spark.sql.ansi.enabled" -> ansi.toString) {
        rounds(500) { rng =>
          val parts = Seq("HOST", "PATH", "QUERY", "REF", "PROTOCOL", "FILE", "AUTHORITY", "USERINFO", "other")
          val arguments = if (rng.chance(30)) "'QUERY', 'k'" else s"'${rng.pick(parts)}'"
          val text = TextPartsTest.url(rng)
          val wanted = conditionOn(s"${rng.pick(Seq("try_", ""))}parse_url(s, $arguments)", "TEXT", text, rng)
          checkAll(wanted, Seq(text, TextPartsTest.url(rng), "").map(stored(_, rng)), found)
        }
      }
      val isEvaluated = !ansi || hasTryParseUrl
      assert(
        found.matched > 100 && (if (isEvaluated) found.excluded > 100 else found.excluded == 0),
        (found.matched, found.failed, found.excluded))
      if (ansi) assert(found.failed > 0)
    }
}

private object TextPartsTest {

  /** Functions of the text s, some with a number N. */
  val Pieces: Seq[String] = Seq(
    "substring(s, N)",
    "substring(s, N, 4)",
    "left(s, 4)",
    "right(s, 5)",
    "trim(s)",
    "ltrim('a', s)",
    "rtrim('ab', s)",
    "btrim(s, 'a ')",
    "substring_index(s, ',', N)",
    "split_part(s, ',', N)",
    "split(s, '[, ]')[0]",
    "split(s, ',', 2)[1]",
    "split(s, '')[N]",
    "split(s, '(?!^)', 2)[1]",
    "regexp_extract(s, '.(?=.)(.*)', 1)",
    "element_at(split(s, ','), N)",
    "try_element_at(split(s, 'b'), N)",
    "regexp_extract(s, '(a)(.*)b?c', 2)",
    "regexp_extract(s, 'ab+(c|1)*', 1)",
    "regexp_substr(s, '[ab]+,')",
    "lower(s)",
    "upper(s)"
  )

  /** A text that is a URL most often. */
  def url(rng: Rng): String = {
    val characters =
      Seq("a", "b", "xyz", "K", "1", ".", "-", "%41", "%c3%a9", "%", "\u00e9", "\ufffd", "\ud83d\ude00", "/", "=", "?")
    def some(most: Int) =
      Seq.fill(rng.int(most + 1))(characters(rng.int(if (rng.chance(60)) 9 else characters.size))).mkString
    def perhaps(part: => String) = if (rng.chance(60)) part else ""
    val query = perhaps(s"?k=${some(3)}&${some(2)}=${some(2)}&k=${some(1)}") + perhaps(s"#${some(3)}")
    val host = rng.pick(Seq("abc.xyz", "A-b.c", "[::1]", "10.0.0.1", "a_b", some(3)))
    val whole = rng.pick(Seq("http://", "HTTPS://", "x:", "//", "")) + perhaps(s"${some(2)}@") + host +
      perhaps(":80") + perhaps(s"/${some(4)}") + query
    if (rng.chance(90)) whole else s" $whole "
  }

  /** Conditions on TEXT with a part of a text. */
  val Tests: Seq[String] = Seq(
    "TEXT = 'PART'",
    "TEXT IN ('PART', 'abc')",
    "TEXT LIKE '%PART%'",
    "TEXT LIKE 'PART%'",
    "TEXT LIKE '%PART_%'",
    "TEXT LIKE '%PART_%b%'",
    "contains(TEXT, 'PART')",
    "endswith(TEXT, 'PART')",
    "instr(TEXT, 'PART') > 0",
    "locate('PART', TEXT, 2) <> 0",
    "position('PART', TEXT) = 1",
    "array_contains(split(TEXT, ','), 'PART')",
    "NOT (TEXT <> 'PART')",
    "coalesce(TEXT, 'abc') = 'PART'",
    "if(TEXT = 'PART', 1, 2) = 1",
    "nullif(TEXT, 'a') = 'PART'",
    "TEXT RLIKE 'PART'",
    "TEXT RLIKE '^(PART)?b+(?:PART)'",
    "TEXT RLIKE '[ab](PART)+'",
    "TEXT RLIKE '{2}PART'",
    "TEXT RLIKE 'a{1}{2}PART'",
    "regexp_instr(TEXT, '.PART*') > 0",
    "regexp_count(TEXT, 'PART+') > 0",
    "TEXT <> ''",
    "TEXT ILIKE '%PART%'",
    "lower(TEXT) = lower('PART')",
    "upper(TEXT) LIKE upper('%PART%')",
    "contains(lower(TEXT), lower('PART'))"
  )
}
