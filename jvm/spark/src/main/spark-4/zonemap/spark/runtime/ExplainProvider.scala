// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.runtime

import java.lang.invoke.MethodHandles
import java.util.function.{Function => JFunction}

import scala.util.control.NonFatal

import org.apache.spark.sql.ExtendedExplainGenerator
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.internal.SQLConf
import org.codehaus.janino.SimpleCompiler
import org.slf4j.LoggerFactory

import zonemap.spark.ZoneMapExplain

/**
 * Names the provider of the section "Zonemap" in the conf of each session with the extension.
 *
 * Spark loads explain providers by name for each query, with the context class loader of the thread, and fails the
 * query if that loader does not find the class. The loader of some threads does not find classes of `spark.jars`, such
 * as the loader with which a Thrift server opens sessions. The provider is therefore a small class in the class loader
 * of Spark itself, which every such loader finds. It forwards to [[ZoneMapExplain]].
 */
private[zonemap] object ExplainProvider {
  private val log = LoggerFactory.getLogger("zonemap")
  private val Package = classOf[ExtendedExplainGenerator].getPackageName
  private val SimpleName = "ZonemapExplain"
  private val Field = "section"

  private val Source =
    s"""package $Package;
       |public final class $SimpleName implements ${classOf[ExtendedExplainGenerator].getName} {
       |  public static volatile java.util.function.Function $Field;
       |  public String title() { return "${ZoneMapExplain.Title}"; }
       |  public String generateExtendedInfo(${classOf[SparkPlan].getName} plan) { return (String) $Field.apply(plan); }
       |}""".stripMargin

  /** The name of the provider; `None` if this JVM does not let a class be defined, which is logged once. */
  private lazy val name: Option[String] =
    try {
      val provider = defined()
      val section: JFunction[SparkPlan, String] = plan => new ZoneMapExplain().generateExtendedInfo(plan)
      provider.getField(Field).set(null, section)
      Some(provider.getName)
    } catch {
      case e @ (NonFatal(_) | _: LinkageError) =>
        log.warn(s"zonemap cannot add its section to EXPLAIN: $e. Queries are planned from the index as usual.")
        None
    }

  private def defined(): Class[_] = {
    val neighbour = classOf[ExtendedExplainGenerator]
    val fullName = s"$Package.$SimpleName"
    try Class.forName(fullName, true, neighbour.getClassLoader)
    catch {
      case _: ClassNotFoundException =>
        val compiler = new SimpleCompiler
        compiler.setParentClassLoader(neighbour.getClassLoader)
        compiler.cook(Source)
        MethodHandles
          .privateLookupIn(neighbour, MethodHandles.lookup())
          .defineClass(compiler.getBytecodes.get(fullName))
    }
  }

  /** Names the provider in `conf`. An empty list of providers stays empty: it turns the section off. */
  def register(conf: SQLConf): Unit =
    name.foreach { ours =>
      val named = conf.getConf(SQLConf.EXTENDED_EXPLAIN_PROVIDERS)
      val wanted = withOurs(named, ours)
      if (named != Some(wanted)) conf.setConfString(SQLConf.EXTENDED_EXPLAIN_PROVIDERS.key, wanted.mkString(","))
    }

  /** Adds `ours`, or puts it in the place of the class that forwards nothing. */
  def withOurs(named: Option[Seq[String]], ours: String): Seq[String] =
    named match {
      case None      => Seq(ours)
      case Some(Nil) => Nil
      case Some(providers) =>
        (providers.map(name => if (name == classOf[ZoneMapExplain].getName) ours else name) :+ ours).distinct
    }
}
