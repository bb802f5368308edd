// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.sim

import org.scalatest.funsuite.AnyFunSuite

/** Every order of the steps of two producers and two committers, in small scopes. */
class ModelSearchTest extends AnyFunSuite {
  import ModelSearchTest._

  Scopes.foreach { case (name, scope) =>
    test(s"no order of steps loses or doubles a record: $name") {
      val result = new ModelSearch(scope, None).run()
      println(s"ModelSearchTest: $name: ${result.states} states, ${result.moves} moves, ${result.endings} endings")
      assert(result.problem.isEmpty, result.problem)
      assert(result.endings > 0)
    }
  }

  Guards.foreach { case (guard, scope) =>
    test(s"without the guard $guard some order of steps fails: one ${guard.failure}") {
      val found = new ModelSearch(scope, Some(guard)).run().problem.map(_._1)
      println(s"ModelSearchTest: without $guard $found")
      assert(found.exists(_.contains(guard.failure)), found)
    }
  }
}

object ModelSearchTest {
  private val TwoLanes = Seq("a", "b")

  val Scopes: Seq[(String, SearchScope)] = Seq(
    "two lanes" -> SearchScope(TwoLanes, 1),
    "a lane with two records, one of them wrong, and another writer" ->
      SearchScope(Seq("a"), 2, wrong = Set(("a", 0L)), foreign = 1),
    "two producers of one lane" -> SearchScope(Seq("a", "a"), 1),
    "two lanes, one fault" -> SearchScope(TwoLanes, 1, faults = 1),
    "two lanes, one crash" -> SearchScope(TwoLanes, 1, crashes = 1)
  )

  /** Scopes that take minutes. */
  private val Deep: Seq[(String, SearchScope)] = Seq(
    "a lane with two records, one crash and one fault" -> SearchScope(Seq("a"), 2, crashes = 1, faults = 1),
    "two lanes, two faults" -> SearchScope(TwoLanes, 1, faults = 2),
    "two lanes, two records each" -> SearchScope(TwoLanes, 2)
  )

  /** The guards whose removal fails within a small scope; the others need clocks, gc or damaged records. */
  val Guards: Seq[(Guard, SearchScope)] = Seq(
    Guard.Fence -> SearchScope(TwoLanes, 1),
    Guard.PointerWithFiles -> SearchScope(Seq("a"), 1, crashes = 1),
    Guard.NoCleanUp -> SearchScope(Seq("a"), 1, faults = 1),
    Guard.SettleAfterProof -> SearchScope(Seq("a"), 1, crashes = 1)
  )

  /** All scopes: `ingest/Test/runMain zonemap.ingest.sim.ModelSearchTest`. */
  def main(arguments: Array[String]): Unit = {
    (Scopes ++ Deep).foreach { case (name, scope) =>
      val begun = System.nanoTime()
      println(s"$name: ${new ModelSearch(scope, None).run()}, ${(System.nanoTime() - begun) / 1000000} ms")
    }
  }
}
