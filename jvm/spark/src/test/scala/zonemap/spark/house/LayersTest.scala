package zonemap.spark.house

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}

import scala.jdk.CollectionConverters._

import com.tngtech.archunit.core.domain.JavaClass
import org.scalatest.funsuite.AnyFunSuite

/**
 * The packages form layers, named floors: a class may only use classes of its own package and of packages below it.
 *
 * docs/design/OVERVIEW.md contains the only list of the floors, bottom up; this test reads that list.
 */
class LayersTest extends AnyFunSuite {
  private val floors = LayersTest.floors(Files.readString(Paths.get("docs/design/OVERVIEW.md"), UTF_8))

  test("each package of the product is on one floor, and each floor has a package") {
    val packages = Classes.all.asScala.map(_.getPackageName).toSet
    assert(floors.distinct == floors)
    assert(packages.diff(floors.toSet).isEmpty, "packages that OVERVIEW.md does not name")
    assert(floors.toSet.diff(packages).isEmpty, "floors of OVERVIEW.md without a class")
  }

  test("no class uses a class of a higher floor") {
    val upward = LayersTest.upward(Classes.all.asScala, floors)
    assert(upward.isEmpty, upward.mkString("\n", "\n", "\n"))
  }

  test("no class below the Spark packages uses a type of Spark") {
    val uses = for {
      from <- Classes.all.asScala.toSeq
      if !from.getPackageName.startsWith("zonemap.spark")
      dependency <- from.getDirectDependenciesFromSelf.asScala
      if dependency.getTargetClass.getName.startsWith("org.apache.spark")
    } yield s"${from.getName} -> ${dependency.getTargetClass.getName}"
    assert(uses.isEmpty, uses.distinct.mkString("\n", "\n", "\n"))
  }

  test("an arrow upwards is found, and printed class -> class") {
    val reversed = LayersTest.upward(Classes.all.asScala, floors.reverse)
    assert(reversed.exists(_.contains("zonemap.core.segment.Segment -> zonemap.core.io.")), reversed.take(20))
    assert(reversed.exists(_.startsWith("zonemap.spark.runtime.IcebergRuntime -> ")))
  }
}

object LayersTest {

  /** The packages in the block that starts with "```floors", bottom up. */
  def floors(overview: String): Seq[String] = {
    val block = overview.split("```floors\n", 2) match {
      case Array(_, rest) => rest.takeWhile(_ != '`')
      case _              => throw new IllegalArgumentException("OVERVIEW.md has no block '```floors'")
    }
    block.linesIterator.map(_.trim).filter(_.nonEmpty).map(line => "zonemap." + line.split("\\s+", 2).head).toSeq
  }

  /** "class -> class" for every use of a class of a higher floor; inner classes count as their outer class. */
  def upward(classes: Iterable[JavaClass], floors: Seq[String]): Seq[String] = {
    val floorOf = floors.zipWithIndex.toMap
    val arrows = for {
      from <- classes
      own <- floorOf.get(from.getPackageName).toSeq
      dependency <- from.getDirectDependenciesFromSelf.asScala
      to = dependency.getTargetClass.getBaseComponentType
      other <- floorOf.get(to.getPackageName)
      if other > own
    } yield s"${outermost(from)} -> ${outermost(to)}"
    arrows.toSeq.distinct.sorted
  }

  private def outermost(c: JavaClass): String = c.getName.takeWhile(_ != '$')
}
