// SPDX-License-Identifier: Apache-2.0
package zonemap.core.predicate

import java.util.HexFormat

import zonemap.core.value.{BytesValue, LongValue, StringType, ValueText, ZoneValue}

/** Formats a predicate in two ways: canonical (for keys) and readable. */
private[predicate] object PredicateText {

  private val ShownElements = 5

  private val ShownCharacters = 200

  def canonical(predicate: Predicate): String = predicate match {
    case True          => "(true)"
    case False         => "(false)"
    case Unknown(_)    => "(unknown)"
    case And(children) => children.map(canonical).distinct.sorted.mkString("(and ", " ", ")")
    case Or(children)  => children.map(canonical).distinct.sorted.mkString("(or ", " ", ")")
    case leaf: Leaf =>
      val (name, arguments) = parts(leaf)
      (name +: column(leaf.column) +: arguments).mkString("(", " ", ")")
    case CompareColumns(left, op, right) =>
      Seq(s"${op.code}columns", column(left), column(right)).mkString("(", " ", ")")
    case Evaluated(columns, condition) =>
      ("evaluated" +: columns.map(column) :+ condition.digest).mkString("(", " ", ")")
    case AnyElement(condition) => s"(anyelement ${canonical(condition)})"
  }

  private def column(column: ColumnRef): String = {
    val key = column.mapKey.fold("")(k => s"[${canonical(k)}]")
    s"""${column.fieldId}$key "${column.columnType.text}""""
  }

  private def parts(leaf: Leaf): (String, Seq[String]) = leaf match {
    case Compare(_, op, value)    => (op.code, Seq(canonical(value)))
    case DistinctFrom(_, value)   => ("distinct", Seq(canonical(value)))
    case In(_, values)            => ("in", values.iterator.map(canonical).toSeq)
    case NotIn(_, values)         => ("notin", values.iterator.map(canonical).toSeq)
    case NotInOrNull(_, values)   => ("notinornull", values.iterator.map(canonical).toSeq)
    case InRanges(_, ranges)      => ("inranges", ranges.iterator.flatMap(r => Seq(end(r.from), end(r.until))).toSeq)
    case _: IsNull                => ("isnull", Nil)
    case _: NotNull               => ("notnull", Nil)
    case _: IsNaN                 => ("isnan", Nil)
    case _: NotNaN                => ("notnan", Nil)
    case StartsWith(_, prefix)    => ("startswith", Seq(canonical(prefix)))
    case NotStartsWith(_, prefix) => ("notstartswith", Seq(canonical(prefix)))
    case NotStartsWithOrNull(_, prefix) => ("notstartswithornull", Seq(canonical(prefix)))
    case Contains(_, parts, isFolded)   => (if (isFolded) "containsanycase" else "contains", parts.map(canonical))
  }

  private def end(value: ZoneValue): String = if (value == null) "*" else canonical(value)

  private def canonical(value: ZoneValue): String = value match {
    case LongValue(v)      => v.toString
    case BytesValue(bytes) => "x" + HexFormat.of().formatHex(bytes)
  }

  def describe(predicate: Predicate): String = predicate match {
    case True            => "true"
    case False           => "false"
    case Unknown(reason) => s"unknown($reason)"
    case And(children)   => children.map(nested).mkString(" AND ")
    case Or(children)    => children.map(nested).mkString(" OR ")
    case leaf: Leaf      => describe(leaf)

    case CompareColumns(left, op, right) => s"${left.name} ${op.symbol} ${right.name}"
    case Evaluated(_, condition)         => condition.text
    case AnyElement(condition)           => s"ANY ELEMENT WITH (${describe(condition)})"
  }

  private def nested(predicate: Predicate): String = predicate match {
    case _: And | _: Or => "(" + describe(predicate) + ")"
    case other          => describe(other)
  }

  private def describe(leaf: Leaf): String = {
    val name = leaf.column.name
    leaf match {
      case Compare(_, op, value)          => s"$name ${op.symbol} ${text(leaf, value)}"
      case DistinctFrom(_, value)         => s"NOT ($name <=> ${text(leaf, value)})"
      case In(_, values)                  => s"$name IN ${list(leaf, values)}"
      case NotIn(_, values)               => s"$name NOT IN ${list(leaf, values)}"
      case NotInOrNull(_, values)         => s"($name IS NULL OR $name NOT IN ${list(leaf, values)})"
      case InRanges(_, ranges)            => s"$name IN ${list(leaf, ranges)}"
      case _: IsNull                      => s"$name IS NULL"
      case _: NotNull                     => s"$name IS NOT NULL"
      case _: IsNaN                       => s"isnan($name)"
      case _: NotNaN                      => s"NOT isnan($name)"
      case StartsWith(_, prefix)          => s"$name STARTS WITH ${text(leaf, prefix)}"
      case NotStartsWith(_, prefix)       => s"$name NOT STARTS WITH ${text(leaf, prefix)}"
      case NotStartsWithOrNull(_, prefix) => s"($name IS NULL OR $name NOT STARTS WITH ${text(leaf, prefix)})"
      case Contains(_, parts, isFolded) =>
        val shown = parts.map(text(leaf, _)).mkString(" AND ")
        s"$name CONTAINS $shown${if (isFolded) " IGNORING CASE" else ""}"
    }
  }

  private def text(leaf: Leaf, value: ZoneValue): String = {
    val text = ValueText.of(leaf.column.columnType, value)
    if (text.length <= ShownCharacters) text else text.take(ShownCharacters) + "..."
  }

  private def list(leaf: Leaf, values: SortedValues): String = {
    val shown = values.iterator.take(ShownElements).map(text(leaf, _)).toSeq
    val more = if (values.size > ShownElements) Seq(s"... ${values.size} values") else Nil
    (shown ++ more).mkString("(", ", ", ")")
  }

  private def list(leaf: Leaf, ranges: ValueRanges): String = {
    def from(r: ValueRange) =
      if (r.from == null) "(-inf" else textBefore(leaf, r.from).fold("[" + text(leaf, r.from))("(" + text(leaf, _))
    def until(r: ValueRange) =
      if (r.until == null) "+inf)" else textBefore(leaf, r.until).fold(text(leaf, r.until) + ")")(text(leaf, _) + "]")
    val shown = ranges.iterator.take(ShownElements).map(r => from(r) + ", " + until(r)).toSeq
    val more = if (ranges.size > ShownElements) Seq(s"... ${ranges.size} ranges") else Nil
    (shown ++ more).mkString(" or ")
  }

  /**
   * Returns the text that `value` directly follows, if `value` is that text and a zero byte: the end of a range of texts
   * is then written as that text, included or excluded.
   */
  private def textBefore(leaf: Leaf, value: ZoneValue): Option[ZoneValue] = (leaf.column.columnType, value) match {
    case (StringType, BytesValue(bytes)) =>
      Option.when(bytes.lastOption.contains(0: Byte))(BytesValue(bytes.dropRight(1)))
    case _ => None
  }
}
