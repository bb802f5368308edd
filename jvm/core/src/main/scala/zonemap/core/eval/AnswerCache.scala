package zonemap.core.eval

import java.util.LinkedHashMap

import zonemap.core.predicate._
import zonemap.core.segment.Segment

/**
 * Which rows of large segments may match the predicates that are asked again and again, as those of dashboards are.
 *
 * An answer follows from the bytes of the segment and the predicate alone, so it never has to be taken back. It is kept
 * when it is asked for the second time, a few bytes for each row it names or a bit for each that there is, until the
 * cache is full: then those used least recently go. Thread-safe.
 */
final private[zonemap] class AnswerCache(maxBytes: Long) {
  import AnswerCache._

  private val asked = new LinkedHashMap[Question, Answer](64, 0.75f, true)
  private var bytes = 0L
  private var answered = 0L

  /** As [[SegmentEvaluator.mayMatch]]. */
  def mayMatch(segment: Segment, predicate: Predicate, candidates: Bitmap): Bitmap =
    if (!isWorthIt(segment, predicate)) SegmentEvaluator.mayMatch(segment, predicate, candidates)
    else {
      val question = Question(segment.contentId, predicate)
      seen(question) match {
        case Some(NotKept) =>
          val all = SegmentEvaluator.mayMatch(segment, predicate, Bitmap.full(segment.rows))
          keep(question, Kept.of(all))
          all.and(candidates)
        case Some(kept: Kept) => kept.rows().and(candidates)
        case None =>
          keep(question, NotKept)
          SegmentEvaluator.mayMatch(segment, predicate, candidates)
      }
    }

  /** Whether a row may match (None or Some), as far as it is kept here: [[mayMatch]] then reads nothing of the segment. */
  def known(segment: Segment, predicate: Predicate): Option[Match] =
    if (!isWorthIt(segment, predicate)) None
    else
      synchronized(asked.get(Question(segment.contentId, predicate))) match {
        case kept: Kept => Some(if (kept.isEmpty) Match.None else Match.Some)
        case _          => None
      }

  /** How many answers were taken from here. */
  def answers: Long = synchronized(answered)

  def residentBytes: Long = synchronized(bytes)

  /** Forgets all. */
  def clear(): Unit = synchronized {
    asked.clear()
    bytes = 0
  }

  private def isWorthIt(segment: Segment, predicate: Predicate): Boolean =
    segment.rows >= LeastRows && literals(predicate) <= MostLiterals

  private def seen(question: Question): Option[Answer] = synchronized {
    val answer = Option(asked.get(question))
    if (answer.exists(_ != NotKept)) answered += 1
    answer
  }

  private def keep(question: Question, answer: Answer): Unit = synchronized {
    bytes += answer.bytes - Option(asked.put(question, answer)).fold(0L)(_.bytes)
    val oldestFirst = asked.values.iterator
    while (bytes > maxBytes && oldestFirst.hasNext) {
      bytes -= oldestFirst.next().bytes
      oldestFirst.remove()
    }
  }
}

private[zonemap] object AnswerCache {

  /** The one of this JVM. */
  val shared: AnswerCache = new AnswerCache(4L << 20)

  /** Segments of fewer rows are asked in microseconds. */
  private val LeastRows = 4096

  /** Longer lists of values are those of joins, which seldom come again, and would be held here. */
  private val MostLiterals = 1000

  private final case class Question(contentId: Long, predicate: Predicate)

  sealed private trait Answer {

    /** Of the question, too. */
    def bytes: Long
  }

  /** Asked for once. */
  private case object NotKept extends Answer {
    override val bytes = 500L
  }

  /** Named one by one. */
  final private class Few(size: Int, named: Array[Int]) extends Kept {
    override val bytes: Long = NotKept.bytes + named.length * 4L
    override def rows(): Bitmap = Bitmap.of(size, named.toSeq: _*)
    override def isEmpty: Boolean = named.isEmpty
  }

  final private class Many(bitmap: Bitmap) extends Kept {
    override val bytes: Long = NotKept.bytes + bitmap.size / 8
    override def rows(): Bitmap = bitmap.copy()
    override def isEmpty: Boolean = bitmap.isEmpty
  }

  sealed private trait Kept extends Answer {

    /** A fresh bitmap. */
    def rows(): Bitmap

    def isEmpty: Boolean
  }

  private object Kept {
    def of(rows: Bitmap): Kept =
      if (rows.cardinality < rows.size / 32) new Few(rows.size, rows.toArray) else new Many(rows.copy())
  }

  private def literals(predicate: Predicate): Int =
    predicate match {
      case And(children)       => children.map(literals).sum
      case Or(children)        => children.map(literals).sum
      case In(_, values)       => values.size
      case NotIn(_, values)    => values.size
      case NotInOrNull(_, v)   => v.size
      case InRanges(_, ranges) => ranges.size
      case Contains(_, parts)  => parts.size
      case _                   => 1
    }
}
