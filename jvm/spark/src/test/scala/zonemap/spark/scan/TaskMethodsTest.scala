// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.testing.LoggedWarnings

/** The check at start-up detects an Iceberg version without the methods that join, MERGE and aggregate pruning need. */
class TaskMethodsTest extends AnyFunSuite {
  import TaskMethodsTest._

  private def warnings(found: Either[String, TaskMethods]): Seq[String] =
    LoggedWarnings.of("zonemap")(TaskMethods.check(found, "9.9.9"))

  test("this Iceberg has the methods, and nothing is logged") {
    assert(TaskMethods.ofIceberg.isRight)
    assert(warnings(TaskMethods.ofIceberg).isEmpty)
  }

  test("a class with the three methods has them, also where they are protected") {
    val found = TaskMethods.of(classOf[Whole]).map(m => Seq(m.tasks, m.reset, m.below).map(_.getName))
    assert(found == Right(Seq("tasks", "resetTasks", "scan")))
  }

  test("a missing method is named in one warning, with the features that are off") {
    Seq(
      classOf[WithoutTasks] -> "WithoutTasks.tasks()",
      classOf[WithoutReset] -> "WithoutReset.resetTasks(java.util.List)",
      classOf[WithoutScan] -> "WithoutScan.scan()",
      classOf[OtherParameter] -> "OtherParameter.resetTasks(java.util.List)",
      classOf[OtherResult] -> "OtherResult.tasks() that returns a list"
    ).foreach { case (scan, missing) =>
      warnings(TaskMethods.of(scan)) match {
        case Seq(one) =>
          assert(one.contains("Iceberg 9.9.9") && one.contains(missing), one)
          Seq("join", "MERGE", "aggregates").foreach(feature => assert(one.contains(feature), one))
        case other => fail(s"$scan: $other")
      }
    }
  }
}

private object TaskMethodsTest {
  class Whole {
    protected def tasks(): java.util.List[String] = java.util.List.of()
    protected def resetTasks(tasks: java.util.List[String]): Unit = assert(tasks != null)
    protected def scan(): String = "below"
  }
  class WithoutScan {
    def tasks(): java.util.List[String] = java.util.List.of()
    def resetTasks(tasks: java.util.List[String]): Unit = assert(tasks != null)
  }
  class WithoutTasks {
    def resetTasks(tasks: java.util.List[String]): Unit = assert(tasks != null)
  }
  class WithoutReset {
    def tasks(): java.util.List[String] = java.util.List.of()
  }
  class OtherParameter {
    def tasks(): java.util.List[String] = java.util.List.of()
    def resetTasks(tasks: Array[String]): Unit = assert(tasks != null)
  }
  class OtherResult {
    def tasks(): Array[String] = Array.empty
    def resetTasks(tasks: java.util.List[String]): Unit = assert(tasks != null)
  }
}
