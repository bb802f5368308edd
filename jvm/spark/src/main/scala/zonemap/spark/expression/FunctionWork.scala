// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * The greatest work of a function of Spark, by the sizes of its arguments in bytes.
 *
 * @param steps steps of one evaluation, besides those to read the arguments and to write the result
 * @param size the greatest size of the result, unless its type has a fixed size
 */
private[expression] final case class FunctionWork(steps: Seq[Double] => Double, size: Seq[Double] => Double)

/**
 * The functions whose work is known. A function that is not listed here has a bound only if its arguments and its
 * result have fixed sizes, as numbers and times have: then its work is the same for all values.
 */
private[expression] object FunctionWork {

  /** The size of a number or a time. A text has the size of its bytes and one more; so has each element of an array. */
  val FixedSize = 16.0

  /** Returns the work of a function; `None` if it has no bound, or none that is known. */
  def of(function: Expression): Option[FunctionWork] =
    ofPattern(function).getOrElse {
      function match {
        // a short text with a great exponent may take minutes
        case Cast(child, to, _, _) => Option.unless(hasText(child.dataType) && hasDecimal(to))(reading(1, FixedText))
        case _: Contains | _: StringInstr | _: StringLocate | _: FindInSet | _: SubstringIndex |
            _: String2TrimExpression | _: GetJsonObject =>
          Option.unless(isCollated(function))(searching)
        case _: Levenshtein => Option.unless(isCollated(function))(editing)
        case _: StringReplace | _: ConcatWs | _: ArrayJoin =>
          Option.unless(isCollated(function))(inserting)
        // each letter of a format may become the name of a time zone, and takes long to read
        case formatted: TimestampFormatterHelper =>
          Option.when(formatted.children.lift(1).exists(isShort))(reading(40, FixedText))
        // the delimiter becomes a pattern, and the time to compile it grows with the square of its length
        case _: StringSplitSQL => Option.unless(isCollated(function))(pairing)
        case _: ArrayUnion | _: ArrayIntersect | _: ArrayExcept | _: ArraysOverlap | _: ArrayDistinct | _: SortArray =>
          Some(pairing)
        case _ => ofReading(function)
      }
    }

  /** The size of a value of a literal. */
  def sizeOf(value: Any, dataType: DataType): Double =
    (value, dataType) match {
      case (text: UTF8String, _)   => 1.0 + text.numBytes
      case (bytes: Array[Byte], _) => 1.0 + bytes.length
      case (array: ArrayData, ArrayType(element, _)) =>
        if (isFixed(element)) 1 + FixedSize * array.numElements()
        else 1 + array.toObjectArray(element).iterator.map(sizeOf(_, element)).sum
      case (row: InternalRow, struct: StructType) =>
        1 + struct.indices.map(i => sizeOf(row.get(i, struct(i).dataType), struct(i).dataType)).sum
      case (null, _) => 1
      case _         => if (isFixed(dataType)) FixedSize else Double.PositiveInfinity
    }

  def isFixed(dataType: DataType): Boolean =
    dataType match {
      case _: NumericType | BooleanType | DateType | TimestampType | TimestampNTZType | NullType  => true
      case _: DayTimeIntervalType | _: YearMonthIntervalType | CalendarIntervalType | _: TimeType => true
      case _                                                                                      => false
    }

  /** Reads its arguments once; the result is at most `growth` times as long, and `more`. */
  private def reading(growth: Double, more: Double = 0) = FunctionWork(_.sum, growth * _.sum + more)

  /** Compares one argument with the other at each place. */
  private val searching = FunctionWork(_.product, _.sum)

  /** Fills a table with a row for each letter of one text and a column for each letter of the other. */
  private val editing = FunctionWork(10 * _.product, _.sum)

  /** Puts the first argument between the others, or the others at each place of the first. */
  private val inserting = FunctionWork(inserted, inserted)

  /** Compares each pair of elements or letters. */
  private val pairing = FunctionWork(sizes => math.pow(sizes.sum, 2), _.sum)

  private def inserted(sizes: Seq[Double]): Double = (sizes.head + 1) * (sizes.tail.sum + 1)

  /** The longest text of a number, a time or a hash. */
  private val FixedText = 128.0

  /** The work of a function that reads its arguments once. */
  private def ofReading(function: Expression): Option[FunctionWork] =
    function match {
      case _: BinaryComparison | _: In | _: InSet | _: And | _: Or | _: Not | _: IsNull | _: IsNotNull |
          _: AtLeastNNonNulls | _: If | _: CaseWhen | _: Coalesce | _: Greatest | _: Least | _: TryEval =>
        Some(reading(1))
      case _: StartsWith | _: EndsWith | _: Length | _: OctetLength | _: BitLength | _: Ascii | _: Crc32 |
          _: Substring | _: Reverse | _: Concat | _: Elt | _: Overlay | _: Unhex | _: UnBase64 | _: Empty2Null |
          _: Murmur3Hash | _: XxHash64 | _: ToNumberBase =>
        Some(reading(1))
      case _: CreateArray | _: CreateNamedStruct | _: GetStructField | _: GetArrayItem | _: Size | _: ArrayContains |
          _: ArrayPosition | _: ArrayMin | _: ArrayMax | _: ArrayRemove | _: Slice | _: Flatten =>
        Some(reading(1))
      // at the least integer it reads memory outside of the array, which may end the process
      case ElementAt(_, Literal(index: Int, _), _, _) if index != Int.MinValue => Some(reading(1))
      case _: ElementAt                                                        => None
      case _: TruncDate | _: TruncTimestamp | _: NextDay | _: FromUTCTimestamp | _: ToUTCTimestamp |
          _: ConvertTimezone | _: MakeTimestamp =>
        Some(reading(1))
      case _: Md5 | _: Sha1 | _: Sha2 | _: SoundEx | _: Chr | _: Bin | _: Conv | _: DayName | _: MonthName =>
        Some(reading(1, FixedText))
      // a letter may become several, or a longer one
      case _: Upper | _: Lower | _: InitCap              => Some(reading(3))
      case _: Mask | _: ToCharacter | _: StringTranslate => Some(reading(4, FixedText))
      case _: Hex                                        => Some(reading(2, FixedText))
      case _ => Option.when((function +: function.children).forall(e => isFixed(e.dataType)))(reading(1))
    }

  private def isShort(format: Expression): Boolean = textOf(format).exists(_.numBytes <= MaxFormat)

  private val MaxFormat = 64

  /** The work of a function that finds patterns in its first argument. */
  private def ofPattern(function: Expression): Option[Option[FunctionWork]] =
    Option(function).collect {
      case RLike(_, pattern)               => regex(pattern)
      case RegExpExtract(_, pattern, _)    => regex(pattern)
      case RegExpExtractAll(_, pattern, _) => regex(pattern)
      case RegExpInStr(_, pattern, _)      => regex(pattern)
      case StringSplit(_, pattern, _)      => regex(pattern)
      case RegExpReplace(_, pattern, _, _) => regex(pattern).map(_.copy(size = inserted))
      case Like(_, pattern, _)             => textOf(pattern).map(text => likes(Seq(text)))
      case LikeAll(_, patterns)            => Some(likes(patterns))
      case NotLikeAll(_, patterns)         => Some(likes(patterns))
      case LikeAny(_, patterns)            => Some(likes(patterns))
      case NotLikeAny(_, patterns)         => Some(likes(patterns))
    }

  private def regex(pattern: Expression): Option[FunctionWork] =
    textOf(pattern).flatMap(text => PatternWork.ofRegex(text.toString)).map(work => matching(Seq(work)))

  private def likes(patterns: Seq[UTF8String]): FunctionWork =
    matching(patterns.filter(_ != null).map(pattern => PatternWork.ofLike(pattern.toString)))

  private def matching(patterns: Seq[PatternWork]) =
    FunctionWork(sizes => patterns.map(_.steps(sizes.head)).sum, 2 * _.sum) // a text in pieces of one letter

  private def textOf(e: Expression): Option[UTF8String] =
    e match {
      case Literal(text: UTF8String, _) => Some(text)
      case _                            => None
    }

  /** Whether texts are compared by a collation, which may read a text again at each place. */
  private def isCollated(function: Expression): Boolean =
    function.children.exists(e => NestedTypes.contains(e.dataType)(LateConfs.isCollated))

  private def hasText(dataType: DataType): Boolean = NestedTypes.contains(dataType)(_.isInstanceOf[StringType])
  private def hasDecimal(dataType: DataType): Boolean = NestedTypes.contains(dataType)(_.isInstanceOf[DecimalType])
}
