// SPDX-License-Identifier: Apache-2.0
package zonemap.spark

import java.net.{JarURLConnection, URL, URLClassLoader}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.{SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.execution.SparkPlan
import org.slf4j.LoggerFactory

/**
 * An interface without Iceberg types to the part of this extension that needs Iceberg.
 *
 * The classes that users name in confs ([[ZoneMapExtension]], [[ZoneMapCatalog]], [[ZoneMapExplain]]) refer to no
 * Iceberg type, so they load in every class-loader layout. They call [[ZoneMapRuntime.get]] to use the other classes.
 */
private[zonemap] trait ZoneMapRuntime {
  def install(extensions: SparkSessionExtensions): Unit
  def procedures: Seq[MinorProcedures.Procedure]
  def explain(plan: SparkPlan): String

  /** The table to which a write in a format of a part goes; `None` if no part has this format. */
  def writtenTable(session: SparkSession, format: String, name: String): Option[Table]
  def plannedScans: Long
  def fallbacks: Long
  def shadowMismatches: Long
  def awaitUpkeep(timeoutMillis: Long): Boolean
  def forgetIndexes(): Unit
}

private[zonemap] object ZoneMapRuntime {
  private val log = LoggerFactory.getLogger("zonemap")
  private val Implementation = "zonemap.spark.runtime.IcebergRuntime"
  private val IcebergProbe = "org.apache.iceberg.spark.source.SparkTable"

  /** The runtime, or the reason why this JVM has none. It is determined once, and the reason is logged once. */
  lazy val get: Either[String, ZoneMapRuntime] = {
    val loaded =
      try unsupportedSpark.toLeft(()).flatMap(_ => loader).flatMap(load)
      catch { case e @ (NonFatal(_) | _: LinkageError) => Left(s"its classes do not match this Iceberg: $e") }
    loaded.left.foreach(why => log.warn(s"zonemap ${Build.version} is inactive: $why. Queries use Iceberg's planning."))
    loaded
  }

  def active: Option[ZoneMapRuntime] = get.toOption

  private def unsupportedSpark: Option[String] = {
    val running = Versions.majorMinor(SPARK_VERSION)
    val built = Versions.majorMinor(Build.sparkMinor)
    Option.when(running != built)(s"it is built for Spark ${Build.sparkMinor}, but this is Spark $SPARK_VERSION")
  }

  private def load(loader: ClassLoader): Either[String, ZoneMapRuntime] = {
    val runtime = Class.forName(Implementation, true, loader).getDeclaredConstructor().newInstance()
    val checked = runtime.asInstanceOf[ZoneMapRuntime with SelfCheck]
    checked.selfCheck().toLeft(checked)
  }

  /**
   * Returns a loader that finds both zonemap's and Iceberg's classes.
   *
   * Usually this is the loader of this class. If zonemap's jar is in Spark's `jars` folder and Iceberg's in
   * `spark.jars`, only the thread's context loader finds Iceberg. A child loader of it then loads zonemap's classes a
   * second time.
   */
  private def loader: Either[String, ClassLoader] = {
    val own = getClass.getClassLoader
    val context = Thread.currentThread().getContextClassLoader
    if (sees(own)) Right(own)
    else if (context != null && sees(context)) Right(new ChildFirstLoader(jars(context), context))
    else Left("Iceberg's Spark runtime is not on the class path; add it to spark.jars or spark.jars.packages")
  }

  private def sees(loader: ClassLoader): Boolean =
    try { Class.forName(IcebergProbe, false, loader); true }
    catch { case _: ClassNotFoundException | _: NoClassDefFoundError => false }

  /** The jar of this class, and the jars of the parts that `context` finds. */
  private def jars(context: ClassLoader): Array[URL] = {
    val location = getClass.getProtectionDomain.getCodeSource
    require(location != null, s"Cannot find the jar of ${getClass.getName}.")
    val parts = context.getResources("META-INF/services/zonemap.spark.part.ZoneMapPart").asScala.map(_.openConnection())
    (location.getLocation +: parts.collect { case jar: JarURLConnection => jar.getJarFileURL }.toSeq).distinct.toArray
  }

  /** Loads zonemap's classes a second time, except the classes that both copies must share. */
  private final class ChildFirstLoader(urls: Array[URL], parent: ClassLoader) extends URLClassLoader(urls, parent) {
    override def loadClass(name: String, resolve: Boolean): Class[_] =
      if (name.startsWith("zonemap.") && !shared(name)) getClassLoadingLock(name).synchronized {
        val known: Class[_] = findLoadedClass(name)
        val loaded: Class[_] = if (known != null) known else findClass(name)
        if (resolve) resolveClass(loaded)
        loaded
      }
      else super.loadClass(name, resolve)

    private def shared(name: String): Boolean =
      Seq("zonemap.spark.ZoneMapRuntime", "zonemap.spark.SelfCheck", "zonemap.spark.Build", "zonemap.spark.Versions")
        .exists(s => name == s || name.startsWith(s + "$"))
  }
}

/** A runtime that checks whether this version of Iceberg has the internals that the runtime uses. */
private[zonemap] trait SelfCheck {

  /** Returns the first failed check; `None` if all checks succeed. */
  def selfCheck(): Option[String]
}

/** Version texts as comparable numbers. */
private[zonemap] object Versions {

  /** (major, minor) of a version text such as "4.1.3" or "1.11.0-SNAPSHOT". */
  def majorMinor(version: String): (Int, Int) =
    version.split("[.-]").take(2).map(_.toIntOption.getOrElse(0)) match {
      case Array(major, minor) => (major, minor)
      case Array(major)        => (major, 0)
      case _                   => (0, 0)
    }
}
