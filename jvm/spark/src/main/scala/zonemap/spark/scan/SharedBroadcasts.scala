// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import java.io.{ObjectOutputStream, OutputStream}
import java.lang.ref.WeakReference
import java.lang.reflect.Field
import java.security.{DigestOutputStream, MessageDigest}
import java.util.{LinkedHashMap => JLinkedHashMap, Map => JMap}
import java.util.function.Supplier

import scala.util.Using
import scala.util.control.NonFatal

import org.apache.iceberg.Table
import org.apache.iceberg.io.FileIO
import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.SparkContext
import org.apache.spark.api.java.JavaSparkContext
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.connector.read.Scan
import org.slf4j.LoggerFactory

/**
 * Broadcasts of tables and FileIOs that the scans of a driver share.
 *
 * Iceberg broadcasts the table and the FileIO of a scan each time Spark plans the scan's partitions. Each broadcast
 * allocates blocks of `spark.broadcast.blockSize` and stays until Spark's cleaner finds it. A shared broadcast is the
 * one that Iceberg would make now: its value has the same serialized bytes, and it belongs to the same FileIO and the
 * same running application (S145). So other credentials, properties or metadata make another broadcast.
 *
 * The newest [[SharedBroadcasts.MaxHeld]] broadcasts are retained. One that is displaced is only forgotten: the
 * partitions of a query that was planned before refer to it, and Spark's cleaner removes it once none do.
 * Thread-safe.
 */
private[zonemap] final class SharedBroadcasts {
  import SharedBroadcasts._

  private val held = new JLinkedHashMap[Key, Broadcast[_]](16, 0.75f, true) {
    override protected def removeEldestEntry(eldest: JMap.Entry[Key, Broadcast[_]]): Boolean =
      this.size > MaxHeld
  }

  /** Lets Iceberg's scan `scan` share its broadcasts; other scans are left unchanged. */
  def serve(scan: Scan): Unit =
    ofIceberg.foreach { fields =>
      val inner = ForwardingScan.innermost(scan)
      if (IcebergScans.isFilterable(inner)) fields.context.get(inner) match {
        case context: JavaSparkContext if !context.isInstanceOf[SharingContext] =>
          fields.context.set(inner, new SharingContext(context.sc, this, fields.fileIO(inner)))
        case _ => ()
      }
    }

  /** The number of broadcasts that are retained now. */
  private[scan] def size: Int = held.synchronized(held.size)

  /**
   * A broadcast of `value`, which belongs to `io`: a new one, unless an equal one is retained. An executor that runs out
   * of memory closes the values of broadcasts that it drops, and can return a closed one to the next query. So only
   * broadcasts of a FileIO whose `close` does nothing are shared.
   */
  private[scan] def of[T](context: SparkContext, io: FileIO, value: T): Broadcast[T] = {
    val plain = new JavaSparkContext(context)
    Guarded.orNothing("shared broadcasts")(Option.when(staysOpen(io))(new Key(context, io, digestOf(value)))) match {
      case None => plain.broadcast(value)
      case Some(key) =>
        val found = held.synchronized(held.get(key))
        if (found != null && BroadcastState.isValid(found)) found.asInstanceOf[Broadcast[T]]
        else retained(key, plain.broadcast(value))
    }
  }

  private def retained[T](key: Key, made: Broadcast[T]): Broadcast[T] = held.synchronized {
    held.keySet.removeIf(_.isOver)
    held.put(key, made)
    made
  }
}

private[zonemap] object SharedBroadcasts {
  private val log = LoggerFactory.getLogger("zonemap")

  /** Sixteen tables, each with its FileIO. */
  private[scan] val MaxHeld = 32

  private val ScanClass = "org.apache.iceberg.spark.source.SparkScan"

  /** The field of Iceberg's scan that has its application, and what returns its FileIO; neither is public. */
  private final case class Fields(context: Field, fileIO: Scan => Supplier[FileIO])

  /** The fields of this version of Iceberg; `None`, which is logged, if one is missing. */
  private lazy val ofIceberg: Option[Fields] =
    try {
      val scan = Class.forName(ScanClass, false, classOf[SparkTable].getClassLoader)
      val context = field(scan, "sparkContext", classOf[JavaSparkContext])
      Some(Fields(context, fileIOOf(scan)))
    } catch {
      case e @ (NonFatal(_) | _: LinkageError) =>
        log.warn(s"Zonemap: each scan broadcasts its table and its FileIO again: Iceberg has other internals: $e")
        None
    }

  /** A scan of Iceberg 1.10 has the FileIO of its table. */
  private def fileIOOf(scan: Class[_]): Scan => Supplier[FileIO] =
    if (scan.getDeclaredFields.exists(_.getName == "fileIO")) {
      val io = field(scan, "fileIO", classOf[Supplier[_]])
      found => io.get(found).asInstanceOf[Supplier[FileIO]]
    } else {
      val table = field(scan, "table", classOf[Table])
      found => () => table.get(found).asInstanceOf[Table].io()
    }

  private def field(scan: Class[_], name: String, kind: Class[_]): Field = {
    val found = scan.getDeclaredField(name)
    require(found.getType == kind, s"field $found is not a ${kind.getName}")
    found.setAccessible(true)
    found
  }

  private def staysOpen(io: FileIO): Boolean = io.getClass.getMethod("close").getDeclaringClass == classOf[FileIO]

  private def digestOf(value: Any): IndexedSeq[Byte] = {
    val digest = MessageDigest.getInstance("SHA-256")
    Using.resource(new ObjectOutputStream(new DigestOutputStream(OutputStream.nullOutputStream(), digest)))(
      _.writeObject(value))
    digest.digest().toIndexedSeq
  }

  /** The application, the FileIO by identity, and the serialized bytes. The references are weak. */
  private final class Key(context: SparkContext, io: FileIO, digest: IndexedSeq[Byte]) {
    private val ofContext = new WeakReference(context)
    private val ofIO = new WeakReference(io)
    private val bytes = digest

    def isOver: Boolean = Option(ofContext.get).forall(_.isStopped)

    override def equals(other: Any): Boolean =
      other match {
        case that: Key =>
          bytes == that.bytes && ofContext.get != null && ofContext.get == that.ofContext.get &&
          ofIO.get != null && (ofIO.get eq that.ofIO.get)
        case _ => false
      }

    override def hashCode: Int = bytes.hashCode
  }

  /** The application of a scan, whose broadcasts are shared. */
  private final class SharingContext(context: SparkContext, broadcasts: SharedBroadcasts, io: Supplier[FileIO])
      extends JavaSparkContext(context) {
    override def broadcast[T](value: T): Broadcast[T] = broadcasts.of(context, io.get, value)
  }
}
