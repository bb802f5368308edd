// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * The functions of Spark that the planner evaluates with Spark's interpreter, and the work of a condition of them:
 * SOUNDNESS, S63. The driver cannot interrupt the interpreter, and perhaps no row would ever reach the condition. So a
 * function is listed only if it is deterministic, reads its arguments a known number of times, and returns a text that
 * is about as long as they are. A function that is not listed is not evaluated.
 */
private[expression] object CheapFunctions {

  /** The most bytes of all texts of a row that are evaluated. */
  val MaxText = 1024

  /** Limit of one evaluation: some milliseconds, and of the texts that it makes. */
  val MaxSteps = 1e7

  /**
   * True if all functions of a condition, whose columns are bound, are listed, and a few evaluations are little work.
   * Then the literals are not long either, which become a part of the digest of the condition.
   */
  def areAllOf(condition: Expression): Boolean =
    !condition.exists(!isCheap(_)) && steps(condition, length = 0) <= MaxSteps / 10

  /** The greatest number of steps of one evaluation for columns whose texts have `length` bytes together. */
  def steps(condition: Expression, length: Int): Double = work(condition, length).steps

  /** True if a number is rounded to a digit that doubles and decimals have; other powers of ten may take very long. */
  def isRoundedNear(scale: Expression): Boolean =
    scale match {
      case Constant(digits: Int) => -MaxDigits <= digits && digits <= MaxDigits
      case _                     => false
    }

  private val MaxDigits = 400
  private val MaxFormat = 64
  private val Package = classOf[Expression].getPackageName

  private def isCheap(expression: Expression): Boolean =
    isPlain(expression.dataType) && (expression match {
      case _: Literal | _: BoundReference => true
      // a constant that is still not a literal depends on the session or the clock, or fails
      case constant if constant.foldable => false
      // a class of a library may extend a class of Spark
      case function => function.getClass.getPackageName == Package && isListed(function)
    })

  private def isListed(function: Expression): Boolean =
    function match {
      case _: BinaryComparison | _: In | _: InSet | _: And | _: Or | _: Not                   => true
      case _: IsNull | _: IsNotNull | _: IsNaN | _: AtLeastNNonNulls                          => true
      case _: If | _: CaseWhen | _: Coalesce | _: NaNvl | _: Greatest | _: Least | _: TryEval => true
      case Cast(child, to, _, _) => isCheapCast(child.dataType, to)
      case other                 => isOfNumbers(other) || isOfTexts(other) || isOfTimes(other)
    }

  private def isCheapCast(from: DataType, to: DataType): Boolean =
    (from, to) match {
      // the format of intervals is a conf, which may change after the query is planned
      case (_, _: DayTimeIntervalType | _: YearMonthIntervalType | _: CalendarIntervalType) => false
      // a short text with a great exponent may take minutes
      case (StringType, _: DecimalType) => false
      // a text of a time alone takes its day from the clock, so a later execution has another result
      case (StringType, TimestampType) => false
      case _                           => true
    }

  private def isOfNumbers(function: Expression): Boolean =
    function match {
      case rounded: RoundBase                                              => isRoundedNear(rounded.right)
      case _: BinaryArithmetic | _: UnaryMinus | _: UnaryPositive | _: Abs => true
      case _: UnaryMathExpression | _: BinaryMathExpression                => true
      case _: BitwiseNot | _: BitwiseCount | _: ShiftLeft | _: ShiftRight | _: ShiftRightUnsigned => true
      case _: Murmur3Hash | _: XxHash64 | _: Crc32 | _: Md5 | _: Sha1 | _: Sha2                   => true
      case _                                                                                      => false
    }

  private def isOfTexts(function: Expression): Boolean =
    function match {
      case _: Upper | _: Lower | _: String2TrimExpression | _: Substring | _: Concat | _: Reverse => true
      case _: Length | _: OctetLength | _: BitLength | _: Ascii                                   => true
      case _: StartsWith | _: EndsWith | _: Contains | _: StringInstr                             => true
      case Like(_, Constant(_), _)                                                                => true
      case _                                                                                      => false
    }

  private def isOfTimes(function: Expression): Boolean =
    function match {
      case _: GetDateField | _: GetTimeField | _: LastDay | _: NextDay | _: TruncDate | _: TruncTimestamp => true
      case _: DateAdd | _: DateSub | _: DateDiff | _: AddMonths | _: MonthsBetween | _: DateAddYMInterval => true
      case _: MinorExpressions.TimestampAddInterval | _: TimestampAddYMInterval                           => true
      case _: SubtractTimestamps | _: SubtractDates | _: MakeDate                                         => true
      case _: TimestampAdd | _: TimestampDiff | _: FromUTCTimestamp | _: ToUTCTimestamp                   => true
      case _: UnixDate | _: UnixSeconds | _: UnixMillis | _: UnixMicros | _: DateFromUnixDate             => true
      case _: SecondsToTimestamp | _: MillisToTimestamp | _: MicrosToTimestamp                            => true
      // each letter of a format may become the name of a time zone, and takes long to read
      case formatted: TimestampFormatterHelper =>
        formatted.children.lift(1).exists {
          case Constant(format: UTF8String) => format.numBytes <= MaxFormat
          case _                            => false
        }
      case _ => false
    }

  private def isFixed(dataType: DataType): Boolean =
    dataType match {
      case _: NumericType | BooleanType | DateType | TimestampType | TimestampNTZType | NullType => true
      case _: DayTimeIntervalType | _: YearMonthIntervalType | CalendarIntervalType              => true
      // TIME, which Spark 4.0 does not have
      case other => other.typeName.startsWith("time(")
    }

  /** False for nested types, and for texts of a collation, which may be compared in more than one pass. */
  private def isPlain(dataType: DataType): Boolean =
    dataType match {
      case StringType | BinaryType => true
      case other                   => isFixed(other)
    }

  /** The greatest steps of one evaluation, and the greatest size of its result in bytes. */
  private final case class Work(steps: Double, size: Double)

  private def work(e: Expression, length: Int): Work =
    e match {
      case Literal(value, _)      => Work(0, sizeOf(value))
      case column: BoundReference => Work(0, if (isFixed(column.dataType)) FixedSize else length + 1)
      case function =>
        val arguments = function.children.map(work(_, length))
        val read = arguments.map(_.size).sum
        val own = function match {
          // `java.util.regex` tries each place of the text for each percent sign; a long pattern takes long to compile
          case Like(_, Constant(pattern: UTF8String), _) =>
            val signs = pattern.toString.count(_ == '%')
            math.pow(arguments.head.size + 1, 1.0 + signs) + math.pow(pattern.numBytes, 2) / 4
          // compares one text with the other at each place
          case _: Contains | _: StringInstr | _: String2TrimExpression => read * read
          case _                                                       => read
        }
        val size = function match {
          case fixed if isFixed(fixed.dataType) => FixedSize
          case _: Upper | _: Lower              => 3 * read // a letter may become several, or a longer one
          case _: TimestampFormatterHelper      => 40 * read
          case _                                => read + FixedText
        }
        Work(arguments.map(_.steps).sum + read + own + size, size)
    }

  /** The size of a number or a time. A text has the size of its bytes and one more. */
  private val FixedSize = 16.0

  /** The longest text of a number, a time or a hash. */
  private val FixedText = 128.0

  private def sizeOf(value: Any): Double =
    value match {
      case text: UTF8String   => 1.0 + text.numBytes
      case bytes: Array[Byte] => 1.0 + bytes.length
      case _                  => FixedSize
    }
}

/** The steps that the conditions of one scan may take together while it is planned. Thread-safe. */
private[zonemap] final class EvaluationBudget {
  private var spent = 0.0

  /** True if an evaluation of so many steps may be made; counts it. */
  private[expression] def spend(steps: Double): Boolean = synchronized {
    val isAffordable = steps <= CheapFunctions.MaxSteps && spent + steps <= EvaluationBudget.MaxTotal
    if (isAffordable) spent += steps
    isAffordable
  }
}

private object EvaluationBudget {

  /** Limit of all evaluations of a scan: about a second. */
  private val MaxTotal = 1e8
}
