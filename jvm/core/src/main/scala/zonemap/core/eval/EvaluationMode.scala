package zonemap.core.eval

/** Which rows an evaluation keeps: Iceberg's inclusive and strict evaluation. */
sealed private[eval] trait EvaluationMode {

  /** Whether a zone with this answer is kept. */
  def keeps(result: Match): Boolean
}

private[eval] object EvaluationMode {

  /** Inclusive: rows that are not proven free of matches. */
  case object MayMatch extends EvaluationMode {
    override def keeps(result: Match): Boolean = result != Match.None
  }

  /** Strict: rows that are proven to match as a whole. */
  case object MustMatch extends EvaluationMode {
    override def keeps(result: Match): Boolean = result == Match.All
  }
}
