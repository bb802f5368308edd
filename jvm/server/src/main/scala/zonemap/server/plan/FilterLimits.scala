// SPDX-License-Identifier: Apache-2.0
package zonemap.server.plan

import scala.collection.mutable

import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.JsonNode

import zonemap.server.http.{Limits, Refusal}

/** Refuses filters that would cost more than a plan. */
private[plan] object FilterLimits {

  /** Walks through the filter once, without recursion. */
  def check(filter: JsonNode, limits: Limits): Unit = {
    val open = mutable.Stack(filter -> 1)
    var literals = 0L
    while (open.nonEmpty) {
      val (node, depth) = open.pop()
      if (depth > limits.filterDepth) refuse("levels", limits.filterDepth)
      if (node.isContainerNode) node.elements().forEachRemaining(child => open.push(child -> (depth + 1)): Unit)
      else {
        literals += 1
        // each condition also has its operator and its column, which are two texts
        if (literals > 3L * limits.filterLiterals) refuse("literals", limits.filterLiterals)
      }
    }
  }

  private def refuse(what: String, limit: Int): Nothing =
    throw Refusal.badRequest(
      s"Cannot plan with this filter: it has more than $limit $what. Divide the query, or plan it in the client.")
}
