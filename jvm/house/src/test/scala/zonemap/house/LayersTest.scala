// SPDX-License-Identifier: Apache-2.0
package zonemap.house

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}

import scala.jdk.CollectionConverters._

import com.tngtech.archunit.core.domain.JavaClass
import org.scalatest.funsuite.AnyFunSuite

/**
 * The packages of a module form layers, named floors: a class uses only classes of its own package and of packages
 * below it.
 *
 * docs/design/OVERVIEW.md contains the only lists of the floors, one a module, bottom up; this test reads them.
 */
class LayersTest extends AnyFunSuite {
  private val floors = LayersTest.floors(Files.readString(Paths.get("docs/design/OVERVIEW.md"), UTF_8))

  test("each module has a list") {
    assert(floors.keySet == Classes.Modules.toSet)
  }

  for (module <- Classes.Modules) {
    test(s"$module: each package is on one floor, and each floor has a package") {
      val (listed, packages) = (floors(module), Classes.of(module).asScala.map(_.getPackageName).toSet)
      assert(listed.distinct == listed)
      assert(packages.diff(listed.toSet).isEmpty, "packages that OVERVIEW.md does not name")
      assert(listed.toSet.diff(packages).isEmpty, "floors of OVERVIEW.md without a class")
    }

    test(s"$module: no class uses a class of a higher floor") {
      val upward = LayersTest.upward(Classes.of(module).asScala, floors(module))
      assert(upward.isEmpty, upward.mkString("\n", "\n", "\n"))
    }
  }

  for (module <- Seq("core", "iceberg", "server", "ingest", "ingest-kafka"))
    test(s"$module: no class uses a type of Spark") {
      val uses = LayersTest.uses(Classes.of(module).asScala, "org.apache.spark")
      assert(uses.isEmpty, uses.mkString("\n", "\n", "\n"))
    }

  test("the planner names neither diagnosis nor ingestion") {
    for (module <- Seq("core", "iceberg", "spark"); other <- Seq("zonemap.insight", "zonemap.ingest", "zonemap.server"))
      assert(LayersTest.uses(Classes.of(module).asScala, other).isEmpty, module)
    assert(LayersTest.uses(Classes.of("insight").asScala, "zonemap.ingest").isEmpty)
  }

  test("an arrow upwards is found, and printed class -> class") {
    val ofCore = LayersTest.upward(Classes.of("core").asScala, floors("core").reverse)
    assert(ofCore.exists(_.contains("zonemap.core.segment.Segment -> zonemap.core.io.")), ofCore.take(20))
    val ofSpark = LayersTest.upward(Classes.of("spark").asScala, floors("spark").reverse)
    assert(ofSpark.exists(_.startsWith("zonemap.spark.runtime.IcebergRuntime -> ")))
    assert(LayersTest.uses(Classes.of("insight").asScala, "org.apache.spark").nonEmpty)
  }
}

object LayersTest {

  /** The packages of each module, bottom up: the block "```floors" below the heading "### jvm/<module>:". */
  def floors(overview: String): Map[String, Seq[String]] =
    "(?s)### jvm/([a-z-]+):[^\n]*\n\n```floors\n(.*?)```".r
      .findAllMatchIn(overview)
      .map { found =>
        val lines = found.group(2).linesIterator.filter(_.nonEmpty)
        found.group(1) -> lines.map(line => "zonemap." + line.split("\\s+", 2).head).toSeq
      }
      .toMap

  /** "class -> class" for every use of a class of a higher floor; inner classes count as their outer class. */
  def upward(classes: Iterable[JavaClass], floors: Seq[String]): Seq[String] = {
    val floorOf = floors.zipWithIndex.toMap
    val arrows = for {
      from <- classes
      own <- floorOf.get(from.getPackageName).toSeq
      to <- targets(from)
      other <- floorOf.get(to.getPackageName)
      if other > own
    } yield s"${outermost(from)} -> ${outermost(to)}"
    arrows.toSeq.distinct.sorted
  }

  /** "class -> class" for every use of a class whose name begins with `prefix`. */
  def uses(classes: Iterable[JavaClass], prefix: String): Seq[String] = {
    val found =
      for (from <- classes; to <- targets(from) if to.getName.startsWith(prefix))
        yield s"${outermost(from)} -> ${outermost(to)}"
    found.toSeq.distinct.sorted
  }

  private def targets(from: JavaClass): Iterable[JavaClass] =
    from.getDirectDependenciesFromSelf.asScala.map(_.getTargetClass.getBaseComponentType)

  private def outermost(c: JavaClass): String = c.getName.takeWhile(_ != '$')
}
