// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.spark.write

import java.lang.reflect.Method

import scala.util.control.NonFatal

import org.apache.iceberg.{DataFile, IcebergBuild}
import org.apache.spark.sql.connector.write.WriterCommitMessage

/**
 * The data files in the commit messages of Iceberg's writers.
 *
 * Iceberg's message class has no public accessor, so its method is called by reflection. [[check]] fails before the
 * first task of a write starts, if this version of Iceberg has another class.
 */
private[ingest] object TaskFiles {
  private val ClassName = "org.apache.iceberg.spark.source.SparkWrite$TaskCommit"

  private lazy val accessor: Either[Throwable, Method] =
    try {
      val found = Class.forName(ClassName, false, classOf[DataFile].getClassLoader).getDeclaredMethod("files")
      require(found.getReturnType == classOf[Array[DataFile]], s"$found returns no data files")
      found.setAccessible(true)
      Right(found)
    } catch { case e @ (NonFatal(_) | _: LinkageError) => Left(e) }

  /** Throws an `IllegalStateException` if this version of Iceberg has no message class with data files. */
  def check(): Unit = files: Unit

  /** The data files of all messages, in the order of the messages. A message may be null. */
  def of(messages: Seq[WriterCommitMessage]): Seq[DataFile] =
    messages.filter(_ != null).flatMap(message => files.invoke(message).asInstanceOf[Array[DataFile]])

  private def files: Method =
    accessor.fold(
      e =>
        throw new IllegalStateException(
          s"Cannot write with format zonemap-ingest: Iceberg ${IcebergBuild.version()} has other internals than " +
            s"expected ($e). Write with format iceberg, or use a version of Iceberg that zonemap supports.",
          e
        ),
      identity
    )
}
