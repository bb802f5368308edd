// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.reason

import org.apache.spark.sql.catalyst.expressions._

import zonemap.core.fact.FactHashes
import zonemap.core.value.ReplacedText
import zonemap.spark.expression.{
  Bare,
  ColumnResolver,
  ExpressionSql,
  MapEntry,
  MonotoneFunctions,
  TextFunctions,
  TextParts
}

/** Finds the reason why a condition has no ranges and is not evaluated; called only for such conditions. */
private[zonemap] object ConditionReasons {

  def of(condition: Expression, columns: ColumnResolver): ConditionReason =
    whole(condition).getOrElse {
      val leaves = columnsOf(condition)
      leaves.iterator
        .flatMap(ofColumn(_, columns))
        .nextOption()
        .orElse(ofText(condition, columns))
        .orElse(ofCast(condition))
        .getOrElse {
          if (leaves.sizeIs > 1) ConditionReason.Columns(leaves.map(ExpressionSql.of))
          else ConditionReason.Function(ExpressionSql.of(function(condition)))
        }
    }

  /** Reasons that do not depend on the condition's columns. */
  private def whole(condition: Expression): Option[ConditionReason] =
    if (condition.exists(_.isInstanceOf[PlanExpression[_]])) Some(ConditionReason.Subquery)
    else if (!condition.deterministic) Some(ConditionReason.NotDeterministic)
    else
      condition
        .collectFirst { case function: UserDefinedExpression => ConditionReason.UserFunction(nameOf(function)) }
        .orElse(Option.when(condition.references.isEmpty)(ConditionReason.NoColumn))

  /** The name of a function that was registered without one is a technical text of Spark. */
  private def nameOf(function: UserDefinedExpression): String =
    function match {
      case scala: ScalaUDF => scala.udfName.getOrElse("UDF")
      case other           => other.name
    }

  /** Returns the columns and the fields of structs in a condition, each once. */
  private def columnsOf(condition: Expression): Seq[Expression] = {
    def in(expression: Expression): Seq[Expression] =
      expression match {
        case Bare(column) => Seq(column)
        case other        => other.children.flatMap(in)
      }
    in(condition).distinctBy(_.canonicalized)
  }

  private def ofColumn(column: Expression, columns: ColumnResolver): Option[ConditionReason] =
    column match {
      case MetadataAttribute(attribute)             => Some(ConditionReason.MetadataColumn(attribute.name))
      case known if columns.column(known).isDefined => None
      case MapEntry(map, key) =>
        Some(ConditionReason.NoBounds(columns.keyName(map, key).getOrElse(ExpressionSql.of(column))))
      case other => Some(ConditionReason.ColumnType(ExpressionSql.of(other), other.dataType.typeName))
    }

  private def ofText(condition: Expression, columns: ColumnResolver): Option[ConditionReason] =
    condition.collectFirst {
      case test @ (_: Contains | _: EndsWith | _: Like | _: RLike | _: MultiLikeBase)
          if test.children.head.references.nonEmpty =>
        val tested = test.children.head
        ConditionReason.TextInside(
          columns.column(tested).fold(ExpressionSql.of(tested))(_.name),
          factsFor(condition, columns))
    }

  /** Why facts do not evaluate a condition on texts, or the fact that could. */
  private def factsFor(condition: Expression, columns: ColumnResolver): String =
    TextParts.whenTrue(condition) match {
      case Some(TextParts(tested, alternatives)) =>
        columns.column(tested) match {
          case None => CannotEvaluate
          case Some(_) if alternatives.exists(_.forall(_.bytes.bytes.length < FactHashes.GramBytes)) =>
            s"n-grams need ${FactHashes.GramBytes} bytes in a row of the pattern"
          case Some(_) if alternatives.flatten.exists(part => ReplacedText.isIn(part.bytes)) => CannotEvaluate
          case Some(column) if columns.knowsTexts(column) => s"its files have no fact of ${column.name}"
          case Some(column)                               => s"only n-grams of ${column.name} could evaluate it"
        }
      case _ => CannotEvaluate
    }

  private val CannotEvaluate = "n-grams cannot evaluate this condition"

  private def ofCast(condition: Expression): Option[ConditionReason] =
    condition.collectFirst {
      case cast: Cast if MonotoneFunctions.of(cast).orElse(TextFunctions.of(cast)).isEmpty =>
        ConditionReason.CastOf(ExpressionSql.of(cast))
    }

  /** Returns the function of a comparison, or the condition itself. */
  private def function(condition: Expression): Expression =
    condition match {
      case Not(child)          => function(child)
      case c: BinaryComparison => c.children.find(!_.foldable).getOrElse(c)
      case In(value, _)        => value
      case InSet(value, _)     => value
      case other               => other
    }
}
