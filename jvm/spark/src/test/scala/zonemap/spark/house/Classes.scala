package zonemap.spark.house

import java.nio.file.Paths

import com.tngtech.archunit.core.domain.JavaClasses
import com.tngtech.archunit.core.importer.ClassFileImporter

/** The compiled classes of the product, without test classes. */
private[house] object Classes {
  private val Modules = Seq("core", "iceberg", "ingest", "spark")

  lazy val all: JavaClasses = {
    val folders = Modules.map(module => Paths.get("jvm", module, "target", "scala-2.13", "classes").toAbsolutePath)
    folders.foreach(folder => require(folder.toFile.isDirectory, s"No classes in '$folder': compile the module first."))
    new ClassFileImporter().importPaths(folders: _*)
  }
}
