// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import java.lang.reflect.Method

import scala.util.control.NonFatal

import org.apache.iceberg.spark.source.SparkTable
import org.slf4j.LoggerFactory

/**
 * The methods of Iceberg's batch scan that zonemap's rules call by reflection; none of them is public.
 *
 * @param tasks returns the planned tasks
 * @param reset replaces the planned tasks
 * @param below returns the Iceberg scan that planned the tasks
 */
private[zonemap] final case class TaskMethods(tasks: Method, reset: Method, below: Method)

private[zonemap] object TaskMethods {
  private val log = LoggerFactory.getLogger("zonemap")
  private val Scan = "org.apache.iceberg.spark.source.SparkPartitioningAwareScan"

  /** The methods of this version of Iceberg; `Left` names the missing class or method. */
  lazy val ofIceberg: Either[String, TaskMethods] =
    try of(Class.forName(Scan, false, classOf[SparkTable].getClassLoader))
    catch { case e @ (NonFatal(_) | _: LinkageError) => Left(s"class $Scan ($e)") }

  def of(scan: Class[_]): Either[String, TaskMethods] =
    for {
      tasks <- method(scan, "tasks")
      reset <- method(scan, "resetTasks", classOf[java.util.List[_]])
      _ <- Either.cond(
        classOf[java.util.List[_]].isAssignableFrom(tasks.getReturnType),
        (),
        s"method ${scan.getName}.tasks() that returns a list")
      below <- method(scan, "scan")
    } yield TaskMethods(tasks, reset, below)

  private def method(scan: Class[_], name: String, parameters: Class[_]*): Either[String, Method] =
    try {
      val found = scan.getDeclaredMethod(name, parameters: _*)
      found.setAccessible(true)
      Right(found)
    } catch {
      case NonFatal(e) => Left(s"method ${scan.getName}.$name(${parameters.map(_.getName).mkString(", ")}) ($e)")
    }

  /** Logs a warning if a method is missing: the rules that need the methods then leave plans unchanged. */
  def check(found: Either[String, TaskMethods], icebergVersion: String): Unit =
    found.left.foreach { missing =>
      log.warn(
        s"Zonemap: pruning by join keys at run time, of MERGE, and by aggregates is off: Iceberg $icebergVersion has no " +
          s"$missing. All other queries are planned from the index.")
    }
}
