// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.faults

import java.io.{IOException, UncheckedIOException}
import java.lang.{Iterable => JIterable}
import java.net.SocketTimeoutException
import java.nio.file.{AccessDeniedException, Path}
import java.util.concurrent.{CountDownLatch, TimeUnit}

import org.apache.iceberg.exceptions.NotFoundException
import org.apache.iceberg.inmemory.InMemoryInputFile
import org.apache.iceberg.io._

import zonemap.iceberg.testing.{BufferedOutput, FileKind, FolderFileIO}

/**
 * A `FileIO` with a fault at the n-th call for files of a store: reads, writes, deletes, listings, checks of existence.
 * Calls for all other files succeed. Thread-safe.
 *
 * @param halt ends the process; by default the call fails, and each later call does
 */
final class FaultyFileIO(
    folder: Path,
    halt: () => Unit = () => throw new UncheckedIOException(new IOException("the process has ended")))
    extends FolderFileIO(folder) {
  import Fault._

  private var count = 0
  private var armed = Option.empty[(Int, Fault)]
  @volatile private var released = new CountDownLatch(0)
  @volatile private var met = Option.empty[CallKind]

  /** Puts a fault at the n-th call from now on, counted from 0. */
  def arm(call: Int, fault: Fault): Unit = synchronized {
    count = 0
    met = None
    armed = Some(call -> fault)
    released = new CountDownLatch(1)
  }

  /** Ends the fault; a call that hangs continues. */
  def disarm(): Unit = synchronized {
    armed = None
    released.countDown()
  }

  /** The kind of the call that met the fault; `None` if fewer calls were made. */
  def metBy: Option[CallKind] = met

  /** The fault that this call meets, if there is one. */
  private def next(kind: CallKind, location: String): Option[Fault] =
    if (FileKind.of(location) != FileKind.Store) None
    else {
      val found = synchronized {
        val call = count
        count += 1
        armed.collect {
          case (at, fault) if call == at                         => met = Some(kind); fault
          case (at, full: DiskFull) if call > at && kind.isWrite => full
          case (at, Halt) if call > at                           => Halt
        }
      }
      found.flatMap(before(_, kind, location))
    }

  /** Does the part of a fault that precedes the call; returns a fault of its bytes. */
  private def before(fault: Fault, kind: CallKind, location: String): Option[Fault] = fault match {
    case Delay(millis) => Thread.sleep(millis); None
    case Hang          => released.await(30, TimeUnit.SECONDS); None
    case Deny          => throw new UncheckedIOException(new AccessDeniedException(location))
    case TimeOut =>
      Thread.sleep(40)
      throw new UncheckedIOException(new SocketTimeoutException(location))
    case Vanish if kind == CallKind.Read => throw new NotFoundException("No such file: %s", location)
    case Meanwhile(_, work) =>
      synchronized { armed = None }
      work()
      None
    case Halt if kind != CallKind.Write => halt(); None
    case other                          => Some(other)
  }

  override def newInputFile(path: String): InputFile = {
    val under = super.newInputFile(path)
    def stream(change: Array[Byte] => Array[Byte]) = new InMemoryInputFile(path, change(bytes(path))).newStream()
    new InputFile {
      override def location(): String = path
      override def exists(): Boolean = { next(CallKind.Exists, path): Unit; under.exists() }
      override def getLength: Long = { next(CallKind.Exists, path): Unit; under.getLength }
      override def newStream(): SeekableInputStream =
        next(CallKind.Read, path) match {
          case Some(Truncate) => stream(whole => whole.take(whole.length / 2))
          case Some(Flip)     => stream(FaultyFileIO.flipped)
          case _              => under.newStream()
        }
    }
  }

  override def newOutputFile(path: String): OutputFile = {
    val under = super.newOutputFile(path)
    new OutputFile {
      override def location(): String = path
      override def toInputFile: InputFile = newInputFile(path)
      override def create(): PositionOutputStream =
        if (FileKind.of(path) == FileKind.Store) createOrOverwrite() else under.create()
      override def createOrOverwrite(): PositionOutputStream = {
        val fault = next(CallKind.Write, path)
        new BufferedOutput(write(path, _, fault))
      }
    }
  }

  private def write(location: String, bytes: Array[Byte], fault: Option[Fault]): Unit = fault match {
    case Some(Truncate) => put(location, bytes.take(bytes.length / 2))
    case Some(Flip)     => put(location, FaultyFileIO.flipped(bytes))
    case Some(Vanish)   => ()
    case Some(DiskFull(percent)) =>
      put(location, bytes.take(bytes.length * percent / 100))
      throw new UncheckedIOException(new IOException(s"$location: No space left on device"))
    case Some(Halt) =>
      put(location, bytes.take(bytes.length / 2))
      halt()
    case _ => put(location, bytes)
  }

  override def deleteFile(location: String): Unit = {
    next(CallKind.Delete, location): Unit
    super.deleteFile(location)
  }

  override def listPrefix(prefix: String): JIterable[FileInfo] = {
    next(CallKind.List, prefix): Unit
    super.listPrefix(prefix)
  }
}

private object FaultyFileIO {

  /** The bytes with one wrong bit in the middle. */
  private def flipped(bytes: Array[Byte]): Array[Byte] = {
    val wrong = bytes.clone()
    if (wrong.nonEmpty) wrong(wrong.length / 2) = (wrong(wrong.length / 2) ^ 0x10).toByte
    wrong
  }
}

/** The kinds of calls of a store. */
sealed abstract class CallKind {
  def isWrite: Boolean = this == CallKind.Write
  def isRead: Boolean = !isWrite && this != CallKind.Delete
}

object CallKind {
  case object Read extends CallKind
  case object Exists extends CallKind
  case object List extends CallKind
  case object Write extends CallKind
  case object Delete extends CallKind
}
