// SPDX-License-Identifier: Apache-2.0
package zonemap.core.segment

import java.nio.ByteBuffer

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer
import zonemap.core.io.{HeapBytes, Input, Output}

/** The manifest table, with the same form in data segments and delete segments. */
private[segment] object ManifestTable {

  /** Collects manifests with their row ranges. */
  final class Builder {
    private val begun = ArrayBuffer.empty[(ManifestIdentity, Int)]

    def isEmpty: Boolean = begun.isEmpty

    def size: Int = begun.size

    def begin(identity: ManifestIdentity, firstRow: Int): Unit = begun += identity -> firstRow

    def encode(rows: Int): Array[Byte] = {
      val out = new Output(1024)
      val ends = begun.drop(1).map(_._2) :+ rows
      out.varint(begun.size)
      begun.zip(ends).foreach { case ((identity, first), end) =>
        write(out, identity)
        out.varint(end - first)
      }
      out.toBytes
    }
  }

  /** The least length of a manifest. */
  private val MinimumBytes = 42

  def decode(bytes: ByteBuffer, rows: Int, most: Int): IndexedSeq[SegmentManifest] = {
    val in = new Input(bytes)
    var first = 0
    val manifests = Vector.fill(in.count(MinimumBytes, most)) {
      val identity = read(in)
      val count = in.varint()
      val manifest = SegmentManifest(identity, first, count)
      first = Math.addExact(first, count)
      manifest
    }
    in.end("the manifest table")
    if (first != rows) Input.damaged(s"manifests of $first rows in a segment of $rows")
    manifests
  }

  /** An estimate of the heap size of decoded manifests. */
  def heapBytes(manifests: Iterable[SegmentManifest]): Long =
    HeapBytes.sequence(manifests.size) + manifests.iterator.map(m => HeapBytes.instance(12) + heapBytes(m.identity)).sum

  private def heapBytes(identity: ManifestIdentity): Long =
    HeapBytes.instance(68) + HeapBytes.text(identity.path) + Seq[AnyRef](
      identity.addedSnapshotId,
      identity.firstRowId,
      identity.addedFiles,
      identity.existingFiles,
      identity.deletedFiles,
      identity.addedRows,
      identity.existingRows,
      identity.deletedRows
    ).map(HeapBytes.boxed).sum

  private def write(out: Output, m: ManifestIdentity): Unit = {
    out.text(m.path).long(m.lengthBytes).int(m.content).int(m.specId)
    out.long(m.sequenceNumber).long(m.minSequenceNumber)
    out.nullableLong(m.addedSnapshotId).nullableLong(m.firstRowId)
    Seq(m.addedFiles, m.existingFiles, m.deletedFiles).foreach(n => out.optional(Option(n))(v => out.int(v)))
    Seq(m.addedRows, m.existingRows, m.deletedRows).foreach(out.nullableLong)
  }

  private def read(in: Input): ManifestIdentity = {
    def nullableInt(): Integer = in.optional(in.int()).map(Int.box).orNull
    ManifestIdentity(
      path = in.text(),
      lengthBytes = in.long(),
      content = in.int(),
      specId = in.int(),
      sequenceNumber = in.long(),
      minSequenceNumber = in.long(),
      addedSnapshotId = in.nullableLong(),
      firstRowId = in.nullableLong(),
      addedFiles = nullableInt(),
      existingFiles = nullableInt(),
      deletedFiles = nullableInt(),
      addedRows = in.nullableLong(),
      existingRows = in.nullableLong(),
      deletedRows = in.nullableLong()
    )
  }
}

/** The partition table, with the same form in data segments and delete segments. */
private[segment] object PartitionTable {

  /** Gives equal (spec, tuple) pairs one ordinal, in order of first use. */
  final class Builder {
    private val ordinals = mutable.LinkedHashMap.empty[ByteBuffer, Int]

    def size: Int = ordinals.size

    def intern(specId: Int, tuple: Array[AnyRef]): Int = {
      val row = new Output(64).int(specId).raw(TupleCodec.encode(tuple)).toBytes
      ordinals.getOrElseUpdate(ByteBuffer.wrap(row), ordinals.size)
    }

    def encode(): Array[Byte] = {
      val out = new Output(1024).varint(ordinals.size)
      ordinals.keysIterator.foreach(row => out.raw(row.array()))
      out.toBytes
    }
  }

  def decode(bytes: ByteBuffer, most: Int): IndexedSeq[PartitionTuple] = {
    val in = new Input(bytes)
    val tuples = Vector.fill(in.count(5, most))(PartitionTuple(in.int(), TupleCodec.read(in)))
    in.end("the partition table")
    tuples
  }

  /** An estimate of the heap size of decoded partitions. */
  def heapBytes(partitions: Iterable[PartitionTuple]): Long =
    HeapBytes.sequence(partitions.size) + partitions.iterator.map { tuple =>
      val values = HeapBytes.array(tuple.values.length, HeapBytes.Reference)
      HeapBytes.instance(8) + values + tuple.values.iterator.map(HeapBytes.boxed).sum
    }.sum
}
