// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.build

import java.lang.reflect.{InvocationHandler, Proxy}

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{ManifestFile, Schema}
import org.apache.iceberg.types.Types
import org.apache.iceberg.types.Types.NestedField.required
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.segment.Segment
import zonemap.iceberg.convert.PartitionTuples
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.store.{IndexStore, Level}
import zonemap.iceberg.testing.{OwnProcess, TestFiles, TestTable}

/** How manifests are grouped into segments, and that making one is repeatable. */
class SegmentTaskTest extends AnyFunSuite with OwnProcess {
  private val table = TestTable.create(new Schema(required(1, "id", Types.LongType.get())))
  (0 until 5).foreach(k => table.append((0 to k).map(_ => TestFiles.data(table)): _*))

  private val manifests = table.current.dataManifests(table.io).asScala.toSeq
  private val columns = IndexedColumns.of(Seq(table.schema))
  private val specs = PartitionTuples.specsById(table.load().specs())

  test("nothing makes no task") {
    assert(SegmentTask.group(Nil, columns, Level.Day, FileWriters.Unknown).isEmpty)
  }

  test("manifests go into one task, in commit order whatever their order in the list") {
    for (order <- Seq(manifests, manifests.reverse)) {
      val tasks = SegmentTask.group(order, columns, Level.Day, FileWriters.Unknown)
      assert(tasks.size == 1 && tasks.head.manifests.map(_.sequenceNumber()) == (1L to 5L))
    }
  }

  test("a task holds about the target of rows; a manifest is never split") {
    def manifest(sequence: Long, files: Int): ManifestFile = {
      val other = Map[String, AnyRef](
        "path" -> s"m$sequence.avro",
        "sequenceNumber" -> Long.box(sequence),
        "addedFilesCount" -> Int.box(files),
        "existingFilesCount" -> Int.box(0))
      val like: InvocationHandler = (_, method, arguments) =>
        other.getOrElse(
          method.getName,
          method.invoke(manifests.head, Option(arguments).getOrElse(Array.empty[AnyRef]): _*))
      Proxy.newProxyInstance(getClass.getClassLoader, Array(classOf[ManifestFile]), like).asInstanceOf[ManifestFile]
    }
    val target = PlannerSettings.SegmentRows
    val cases: Seq[(Seq[Int], Seq[Int])] = Seq(
      Seq(target, 1) -> Seq(1, 1),
      Seq(target - 1, 1, 1) -> Seq(2, 1),
      Seq(target * 3) -> Seq(1),
      Seq(1, target * 3, 1, 1) -> Seq(1, 1, 2),
      Seq.fill(10)(target / 4) -> Seq(4, 4, 2))
    for ((sizes, expected) <- cases) {
      val made = sizes.zipWithIndex.map { case (files, i) => manifest(i + 1L, files) }
      assert(SegmentTask.group(made, columns, Level.Day, FileWriters.Unknown).map(_.manifests.size) == expected, sizes)
    }
  }

  test("the same manifests make the same bytes, each time under a name of their own") {
    val task = SegmentTask.group(manifests, columns, Level.Day, FileWriters.Unknown).head
    val store = new IndexStore(table.io, "mem://x/_zonemaps_v2/u", process.access)
    val (a, b) = (task.write(table.io, specs, store), task.write(table.io, specs, store))
    assert(a.contentHash == b.contentHash && a.sizeBytes == b.sizeBytes && a.relativePath != b.relativePath)
    Seq(a, b).foreach(ref => assert(ref.relativePath.matches(s"segments/day/1-5-${ref.contentHash}-[0-9a-f]{8}\\.zm")))
    val again = task.copy(written = Seq(b)).write(table.io, specs, store)
    assert(again == b, "one that is there already is taken")
    table.io.put(s"${store.root}/${b.relativePath}", new Array[Byte](b.sizeBytes.toInt))
    val healed = task.copy(written = Seq(b)).write(table.io, specs, store)
    assert(healed.relativePath != b.relativePath, "unless it is damaged")
    val segment = Segment.open(store.openSegment(a))
    assert(segment.rows == 15 && segment.manifests.map(_.rowCount) == Seq(1, 2, 3, 4, 5))
  }

  test("the local runner answers in the order of the tasks") {
    val store = new IndexStore(table.io, "mem://y/_zonemaps_v2/u", process.access)
    val tasks = manifests.map(m => SegmentTask(Seq(m), columns, Level.Micro))
    assert(
      new LocalRunner(table.load())
        .run(tasks, store)
        .map(_.relativePath.split('/').last.takeWhile(_ != '-').toLong) == manifests.map(_.sequenceNumber()))
  }
}
