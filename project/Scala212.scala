// SPDX-License-Identifier: Apache-2.0
import sbt._

/** Sources for Scala 2.12, which Spark 3.5 has: copies of those for Scala 2.13, which differ in two ways. */
object Scala212 {
  private val Package = """(?m)^package ([\w.]+)$""".r
  private val ToSeq = """\.toSeq\b(?![(\[])""".r // Spark's rows and arrays have a method `toSeq` with arguments
  private val Compat = "zonemap.compat"

  /**
   * Copies sources into a folder, and returns the copies. Each imports the object `zonemap.compat`, which has methods
   * that Scala 2.12 lacks, and calls its `strictSeq` in the place of `toSeq`, which is lazy or shares a buffer there.
   * Lines keep their numbers.
   */
  def copies(sources: Seq[File], into: File): Seq[File] = {
    val made = sources.map {
      case source if source.getName.endsWith(".scala") =>
        val text = IO.read(source)
        val name = Package.findFirstMatchIn(text).map(_.group(1)).getOrElse("")
        val copy = into / name.replace('.', '/') / source.getName
        val adapted =
          if (source.getPath.contains("/scala-2.12/")) text
          else ToSeq.replaceAllIn(Package.replaceFirstIn(text, s"package $$1; import $Compat._"), ".strictSeq")
        if (!copy.exists || IO.read(copy) != adapted) IO.write(copy, adapted)
        copy
      case other => other
    }
    IO.delete((into ** "*.scala").get.filterNot(made.toSet))
    made
  }
}
