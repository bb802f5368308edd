// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types.{ArrayType, DataType, IntegerType, LongType}

/** Stands for an element of a list, or for a key or a value of a map, in a condition on one of them. */
private[zonemap] final case class ElementOf(child: Expression) extends UnaryExpression with Unevaluable {
  override def dataType: DataType = child.dataType.asInstanceOf[ArrayType].elementType
  override def nullable: Boolean = true
  override def prettyName: String = "element"
  override protected def withNewChildInternal(newChild: Expression): Expression = copy(child = newChild)
}

/** Finds the conditions that hold only if some element of a list or map meets a condition. SOUNDNESS, S158. */
private[expression] object ElementConditions {

  /** Returns a condition on [[ElementOf]] that is TRUE for some element if `condition` has the given outcome. */
  def when(condition: Expression, outcome: Boolean): Option[Expression] =
    condition match {
      case ArrayForAll(list, Lambda(body)) if !outcome => body(list).map(Not(_))
      case _                                           => if (outcome) whenTrue(condition) else None
    }

  private def whenTrue(condition: Expression): Option[Expression] =
    condition match {
      case ArrayContains(Elements(element), value @ Constant(_)) => Some(EqualTo(element, value))
      case ArraysOverlap(Elements(element), values: Literal)     => among(element, values)
      case ArraysOverlap(values: Literal, Elements(element))     => among(element, values)
      case ArrayExists(list, Lambda(body), _)                    => body(list)
      case _                                                     => None
    }

  /** Returns a condition that is TRUE for some element if the value of a function is wanted. */
  def whenIn(function: Expression, wanted: Wanted): Option[Expression] =
    function match {
      case _ if wanted.nulls => None
      case ArrayPosition(Elements(element), value @ Constant(_)) if !wanted.holds(NotFound) =>
        Some(EqualTo(element, value))
      case Size(ArrayFilter(list, Lambda(body)), isLegacy)
          if !wanted.holds(Zero) && !(isLegacy && wanted.holds(SizeOfNull)) =>
        body(list)
      case _ => None
    }

  /** Matches an item of a list, null without an error if there is none; returns it as an element. */
  object Item {
    def unapply(item: Expression): Option[Expression] =
      item match {
        case GetArrayItem(Elements(element), Constant(_), false)                => Some(element)
        case ElementAt(Elements(element), Constant(at), None, false) if at != 0 => Some(element)
        case _                                                                  => None
      }
  }

  private val NotFound = CatalystValues.encode(LongType, 0L)
  private val Zero = CatalystValues.encode(IntegerType, 0)
  private val SizeOfNull = CatalystValues.encode(IntegerType, -1)

  /** An element that is null is in no list of values, and null is equal to no element. */
  private def among(element: Expression, values: Literal): Option[Expression] =
    values match {
      case Literal(array: ArrayData, ArrayType(of, _)) =>
        Some(In(element, array.toSeq[Any](of).filter(_ != null).map(Literal(_, of))))
      case _ => None
    }

  /** Matches a function of one variable; returns it as a function of the elements of a list. */
  private object Lambda {
    def unapply(function: Expression): Option[Expression => Option[Expression]] =
      function match {
        case LambdaFunction(body, Seq(variable: NamedLambdaVariable), _) =>
          Some(list =>
            Elements.unapply(list).map { element =>
              body.transform { case found: NamedLambdaVariable if found.exprId == variable.exprId => element }
            })
        case _ => None
      }
  }

  /** Matches a list of which each element is one of a column, a field of one, or a function of one. */
  private object Elements {
    def unapply(list: Expression): Option[Expression] =
      list match {
        case Bare(column) if column.dataType.isInstanceOf[ArrayType] => Some(ElementOf(column))
        case MapKeys(Bare(_)) | MapValues(Bare(_))                   => Some(ElementOf(list))
        case GetArrayStructFields(Elements(struct), field, ordinal, _, _) =>
          Some(GetStructField(struct, ordinal, Some(field.name)))
        case ArrayTransform(inner, Lambda(body)) => body(inner)
        case _                                   => None
      }
  }
}
