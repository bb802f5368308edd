// SPDX-License-Identifier: Apache-2.0
package zonemap.house

import java.nio.file.Paths

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import com.tngtech.archunit.core.domain.{JavaClass, JavaField, JavaModifier}
import org.scalatest.funsuite.AnyFunSuite

/**
 * Few objects may hold state of the JVM; each of them is listed here with a reason.
 *
 * An `object` (or a static field of a Java class) holds state if it holds a var, a mutable collection, an atomic, an
 * executor or a thread, or an instance of a class of the product that holds one of them.
 */
class StateTest extends AnyFunSuite {
  import StateTest._

  private val stateful = new Stateful(Classes.all.asScala)

  test("no object holds state but those that are written down") {
    val found = stateful.objects
    assert(found.diff(Allowed.keySet).isEmpty, found.diff(Allowed.keySet).map(stateful.why).mkString("\n", "\n", "\n"))
    assert(Allowed.keySet.diff(found).isEmpty, "written down, and without state today")
  }

  test("an object with a var, a collection, an executor, or an instance of a class with one is found") {
    val planted = new Stateful(
      new com.tngtech.archunit.core.importer.ClassFileImporter()
        .importPaths(Paths.get("jvm", "house", "target", "scala-2.13", "test-classes", "zonemap", "house"))
        .asScala)
    val names = planted.objects.map(_.split('.').last)
    assert(Set("WithVar", "WithMap", "WithExecutor", "WithInstance").map("Planted$" + _).subsetOf(names))
    assert(!names.exists(Set("WithConstants", "WithLazy").map("Planted$" + _)))
  }
}

private[house] object StateTest {

  /** The objects that may hold state, each with the reason why the process object does not own that state. */
  val Allowed: Map[String, String] = Map(
    "zonemap.iceberg.upkeep.UpkeepProcess" -> "the process object of the JVM itself",
    "zonemap.iceberg.store.StoreBudget" -> "the budget of the plan that a thread makes now: a thread-local",
    "zonemap.iceberg.store.StoreRequests" -> "the request that a thread makes now: a thread-local",
    "zonemap.iceberg.store.SpillFiles" -> "the JDK's thread that frees mapped files",
    "zonemap.iceberg.prune.ScanHints" -> "the hints of a plain scan; its list of notes is immutable",
    "zonemap.iceberg.snapshot.TableFacts" -> "the facts of a table without facts: it never loads one",
    "zonemap.spark.expression.LocalTime" -> "a fact about each zone of the JDK's database, which cannot change",
    "zonemap.spark.procedure.ProcedureRule" -> "the catalog of procedures, whose name is set once",
    "zonemap.spark.job.SparkJobRunner" -> "threads and caches of an executor, which has no process object"
  )

  private val StatefulLibrary: Seq[Class[_]] = Seq(
    classOf[java.util.Map[_, _]],
    classOf[java.util.Collection[_]],
    classOf[mutable.Iterable[_]],
    classOf[mutable.Builder[_, _]],
    classOf[java.util.concurrent.Executor],
    classOf[java.util.concurrent.atomic.AtomicReference[_]],
    classOf[java.util.concurrent.atomic.AtomicBoolean],
    classOf[java.util.concurrent.atomic.AtomicInteger],
    classOf[java.util.concurrent.atomic.AtomicLong],
    classOf[java.util.concurrent.atomic.LongAdder],
    classOf[java.util.concurrent.locks.Lock],
    classOf[java.util.concurrent.Semaphore],
    classOf[ThreadLocal[_]],
    classOf[java.lang.ref.Cleaner],
    classOf[Thread]
  )

  final class Stateful(classes: Iterable[JavaClass]) {
    private val own = classes.map(c => c.getName -> c).toMap
    private val known = mutable.HashMap.empty[String, Boolean]

    /** Names, without the `$` at the end, of the objects and of the Java classes with static fields that hold state. */
    def objects: Set[String] =
      classes.filter(c => statics(c).exists(_ => reasons(c).nonEmpty)).map(c => nameOf(c)).toSet

    def why(name: String): String =
      classes
        .find(c => nameOf(c) == name && reasons(c).nonEmpty)
        .fold(name)(c => s"$name: ${reasons(c).mkString(", ")}")

    private def nameOf(c: JavaClass): String = c.getName.stripSuffix("$")

    private def statics(c: JavaClass): Option[JavaClass] =
      Option.when(c.getFields.asScala.exists(_.getModifiers.contains(JavaModifier.STATIC)))(c)

    private def reasons(c: JavaClass): Seq[String] =
      c.getFields.asScala.toSeq
        .filter(f => f.getModifiers.contains(JavaModifier.STATIC) && !isForeign(f))
        .filter(f => holdsState(f))
        .map(f => s"${f.getName}: ${f.getRawType.getSimpleName}")

    /** Whether Scala or a trait of Spark generated the field. */
    private def isForeign(field: JavaField): Boolean =
      field.getName == "MODULE$" || field.getName.startsWith("org$apache$spark$")

    private def holdsState(field: JavaField): Boolean =
      isVar(field) || isStateful(field.getRawType)

    /** Whether the field can be set after its object is created; the fields that implement a lazy val do not count. */
    private def isVar(field: JavaField): Boolean = {
      val name = field.getName.split("\\$\\$").last
      val isLazy = field.getOwner.getMethods.asScala.exists(_.getName.split("\\$\\$").last == name + "$lzycompute")
      !field.getModifiers.contains(JavaModifier.FINAL) && !isLazy && !name.startsWith("bitmap$")
    }

    private def isStateful(c: JavaClass): Boolean =
      StatefulLibrary.exists(l => c.isAssignableTo(l)) || own.get(c.getName).exists { product =>
        known.getOrElse(
          product.getName, {
            known(product.getName) = false // ends the recursion of a class that holds itself
            val found = (product +: product.getAllRawSuperclasses.asScala.toSeq)
              .flatMap(_.getFields.asScala)
              .filterNot(_.getModifiers.contains(JavaModifier.STATIC))
              .exists(f => holdsState(f))
            known(product.getName) = found
            found
          }
        )
      }
  }
}

/** Objects that the test must report, and objects that it must not report. */
private[house] object Planted {
  object WithVar { var count = 0 }
  object WithMap { val seen = new java.util.HashMap[String, String] }
  object WithExecutor { val pool: java.util.concurrent.ExecutorService = null }
  final class Counter { var count = 0 }
  object WithInstance { val counter = new Counter }
  object WithConstants { val names = Map("a" -> 1); val limit = 3 }
  object WithLazy { lazy val names: Seq[String] = Seq("a") }
}
