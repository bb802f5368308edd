// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.job

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, ObjectInputStream, ObjectOutputStream}

import org.apache.iceberg.{SerializableTable, Table}
import org.apache.spark.sql.SparkSession

import zonemap.core.version.{FactRef, SegmentRef}
import zonemap.iceberg.build.{LocalRunner, SegmentTask, SegmentTaskRunner}
import zonemap.iceberg.convert.PartitionTuples
import zonemap.iceberg.evidence.{FooterFindings, FooterTask, FooterTaskRunner}
import zonemap.iceberg.fact.{FactTask, FactTaskRunner}
import zonemap.iceberg.store.{IndexStore, StoreAccess}
import zonemap.spark.expression.ValueAtPath

/**
 * Runs the tasks of a build as a Spark job, with one Spark task for each segment. The driver runs builds of a single
 * segment, and all builds if executors cannot load zonemap's classes together with Iceberg's (see
 * `ZoneMapRuntime.loader`).
 *
 * Tasks are sent as Java-serialized bytes, so that a session with Kryo needs no registration. A retried task writes the
 * same bytes again under another name; no version of the index refers to the first file.
 */
private[zonemap] final class SparkJobRunner(spark: SparkSession, table: Table)
    extends SegmentTaskRunner
    with FactTaskRunner
    with FooterTaskRunner {

  override def run(tasks: Seq[SegmentTask], store: IndexStore): Seq[SegmentRef] =
    if (tasks.size <= 1 || !SparkJobRunner.travels) new LocalRunner(table).run(tasks, store)
    else {
      val root = store.root
      distribute(s"${tasks.size} segments", tasks) { (onExecutor, bytes) =>
        val task = SparkJobRunner.fromBytes[SegmentTask](bytes)
        val specs = PartitionTuples.specsById(onExecutor.specs())
        SparkJobRunner.toBytes(task.write(onExecutor.io(), specs, SparkJobRunner.storeOf(onExecutor, root)))
      }.map(SparkJobRunner.fromBytes[SegmentRef])
    }

  override def evaluator: Option[String] = Some(ValueAtPath.Evaluator)

  /** Runs even a single task as a Spark job if possible, because the task reads data files. */
  override def build(tasks: Seq[FactTask], store: IndexStore): Seq[FactRef] =
    if (!SparkJobRunner.travels) tasks.flatMap(_.write(new SparkFactReader(table), store))
    else {
      val root = store.root
      val files = tasks.iterator.map(_.files.size).sum
      distribute(s"facts of $files files", tasks) { (onExecutor, bytes) =>
        val task = SparkJobRunner.fromBytes[FactTask](bytes)
        val written = task.write(new SparkFactReader(onExecutor), SparkJobRunner.storeOf(onExecutor, root))
        SparkJobRunner.toBytes(written.toVector)
      }.flatMap(SparkJobRunner.fromBytes[Vector[FactRef]])
    }

  override def check(tasks: Seq[FooterTask], store: IndexStore): Seq[FooterFindings] =
    if (tasks.size <= 1 || !SparkJobRunner.travels) tasks.map(_.run(table, store))
    else {
      val root = store.root
      val files = tasks.iterator.map(_.rows.length).sum
      distribute(s"footers of $files files", tasks) { (onExecutor, bytes) =>
        val task = SparkJobRunner.fromBytes[FooterTask](bytes)
        SparkJobRunner.toBytes(task.run(onExecutor, SparkJobRunner.storeOf(onExecutor, root)))
      }.map(SparkJobRunner.fromBytes[FooterFindings])
    }

  /** Runs `work` for each element, with the table and the element's bytes; returns results in the elements' order. */
  private def distribute(what: String, tasks: Seq[AnyRef])(work: (Table, Array[Byte]) => Array[Byte]) = {
    val context = spark.sparkContext
    val broadcast = context.broadcast(SerializableTable.copyOf(table))
    context.setJobDescription(s"zonemap: index ${table.name()}, $what")
    try
      context
        .parallelize(tasks.map(SparkJobRunner.toBytes), tasks.size)
        .map(bytes => work(broadcast.value, bytes))
        .collect()
        .toSeq
    finally {
      context.setJobDescription(null)
      broadcast.destroy()
    }
  }
}

private[zonemap] object SparkJobRunner {

  /**
   * True if Spark tasks load the same class as this one. Tasks cannot find a copy that `ZoneMapRuntime.loader` has
   * loaded by a loader of its own.
   */
  private lazy val travels: Boolean = {
    val loader = Option(Thread.currentThread().getContextClassLoader).getOrElse(getClass.getClassLoader)
    try Class.forName(getClass.getName, false, loader) eq getClass
    catch { case _: ClassNotFoundException | _: LinkageError => false }
  }

  /**
   * The access to stores that all tasks in the JVM of an executor share; an executor has no process object of its own.
   */
  private lazy val access = new StoreAccess

  /** Opens the store of an index, for a task. */
  def storeOf(table: Table, root: String): IndexStore = new IndexStore(table.io(), root, access)

  def toBytes(value: AnyRef): Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    val out = new ObjectOutputStream(bytes)
    out.writeObject(value)
    out.close()
    bytes.toByteArray
  }

  def fromBytes[A](bytes: Array[Byte]): A = {
    val loader = Thread.currentThread().getContextClassLoader
    val in = new ObjectInputStream(new ByteArrayInputStream(bytes)) {
      override def resolveClass(description: java.io.ObjectStreamClass): Class[_] =
        try Class.forName(description.getName, false, loader)
        catch { case _: ClassNotFoundException => super.resolveClass(description) }
    }
    in.readObject().asInstanceOf[A]
  }
}
