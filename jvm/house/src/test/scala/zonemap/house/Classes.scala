// SPDX-License-Identifier: Apache-2.0
package zonemap.house

import java.nio.file.{Path, Paths}

import com.tngtech.archunit.core.domain.JavaClasses
import com.tngtech.archunit.core.importer.ClassFileImporter

/** The compiled classes of the product, without test classes. */
private[house] object Classes {

  /** The folders of jvm/ with classes of the product. */
  val Modules: Seq[String] =
    Seq("core", "iceberg", "server", "spark", "insight", "ingest", "ingest-kafka", "ingest-spark")

  lazy val all: JavaClasses = imported(Modules)

  private lazy val ofModules = Modules.map(module => module -> imported(Seq(module))).toMap

  def of(module: String): JavaClasses = ofModules(module)

  private def imported(modules: Seq[String]): JavaClasses = {
    val folders = modules.map(folder)
    folders.foreach(folder => require(folder.toFile.isDirectory, s"No classes in '$folder': compile the module first."))
    new ClassFileImporter().importPaths(folders: _*)
  }

  private def folder(module: String): Path =
    Paths.get("jvm", module, "target", "scala-2.13", "classes").toAbsolutePath
}
