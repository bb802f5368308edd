// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.task

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, ObjectInputStream, ObjectOutputStream}
import java.nio.charset.StandardCharsets.ISO_8859_1

import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import org.apache.iceberg._
import org.apache.iceberg.expressions.{Expression, Expressions}
import org.apache.iceberg.io.CloseableIterable
import org.apache.iceberg.types.Types
import org.apache.iceberg.types.Types.NestedField.{optional, required}
import org.apache.iceberg.util.TableScanUtil
import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.plan.Planning
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.testing._

/** The groups of compact tasks, as an executor receives them, are those of Iceberg's own tasks (S145). */
class CompactTasksTest extends AnyFunSuite with OwnProcess {
  import CompactTasksTest._

  private val Compact = Planning.Covering
  private val Plain = Planning.Covering.copy(ownSplits = false)

  private def tasks(table: TestTable, settings: PlannerSettings, filter: Expression): Seq[FileScanTask] = {
    val planned = Planning.ours(table, filter, settings)
    assert(planned.reason.isEmpty, planned.mode)
    planned.tasks
  }

  /** Compares the groups of both kinds of tasks for random sizes; returns how many tasks were compact. */
  private def compare(table: TestTable, rng: Rng, filter: Expression = Expressions.alwaysTrue()): Int = {
    val (ours, theirs) = (tasks(table, Compact, filter), tasks(table, Plain, filter))
    assert(theirs.forall(_.isInstanceOf[BaseFileScanTask]))
    assert(ours.map(wholes) == theirs.map(wholes))
    (0 until 4).foreach { _ =>
      val splitSize = rng.pick(Seq(60000L, 130000L, 1L << 27, Long.MaxValue))
      val lookback = rng.pick(Seq(1, 3, 10))
      val openCost = rng.pick(Seq(0L, 30000L, 4L << 20))
      val (mine, stock) = (groups(ours, splitSize, lookback, openCost), groups(theirs, splitSize, lookback, openCost))
      val what = s"split size $splitSize, lookback $lookback, open cost $openCost"
      assert(mine.map(totals) == stock.map(totals), what)
      assert(mine.map(received).map(fields) == stock.map(received).map(fields), what)
    }
    ours.count(_.isInstanceOf[CompactTask])
  }

  test("formats, partitions of several specs, split offsets and sizes: the groups are equal as lists") {
    println(s"CompactTasksTest: -Dzonemap.seed=${Rng.baseSeed}")
    (0 until 12).foreach { n =>
      val seed = Rng.baseSeed + n
      process.restart()
      val rng = new Rng(seed)
      val table = TestTable.create(Columns, PartitionSpec.builderFor(_).identity("p").build(), rng.pick(Seq(1, 2, 3)))
      (0 until 3).foreach { commit =>
        table.append((0 until 1 + rng.int(60)).map(_ => file(table, rng)): _*)
        if (commit == 0 && rng.chance(50)) table.load().updateSpec().addField(Expressions.bucket("id", 4)).commit()
      }
      val all = compare(table, rng)
      assert(all > 2, s"seed $seed")
      assert(compare(table, rng, Expressions.lessThan("id", 500L)) < all, s"seed $seed")
    }
  }

  test("pieces of one file that do not touch stay two splits of a group") {
    val table = TestTable.create(Columns)
    val offsets = Seq(4L, 60004L, 140004L).map(Long.box).asJava
    val change = (builder: DataFiles.Builder) => { builder.withFileSizeInBytes(170004).withSplitOffsets(offsets): Unit }
    table.append(TestFiles.data(table, Map("id" -> Stats.range(1L, 9L)), change = change))
    val Seq(mine, stock) = Seq(Compact, Plain).map { settings =>
      groups(tasks(table, settings, Expressions.alwaysTrue()), 100000, 10, 0).map(received).map(fields)
    }
    assert(mine == stock && mine.map(_.size).contains(4), mine)
  }

  test("random tables with deletes of format version 2 and 3: the groups are equal as lists") {
    var compact = 0
    (0 until 12).foreach { n =>
      val seed = Rng.baseSeed + 1000 + n
      process.restart()
      val rng = new Rng(seed)
      val random = new RandomTable(rng)
      random.append()
      (0 until 6).foreach(_ => random.commit())
      compact += compare(random.table, rng)
    }
    assert(compact > 0)
  }

  test("data and delete files name the manifests that Iceberg's name, which commits open instead of all manifests") {
    def named(file: ContentFile[_]) = (file.location(), file.manifestLocation())
    (0 until 12).foreach { n =>
      process.restart()
      val random = new RandomTable(new Rng(Rng.baseSeed + 2000 + n))
      random.append()
      (0 until 6).foreach { _ =>
        random.commit()
        val stock = Planning.stock(random.table)
        val (files, deletes) =
          (stock.map(t => named(t.file())).toSet, stock.flatMap(_.deletes().asScala.map(named)).toSet)
        assert(files.forall(_._2 != null))
        Seq(Compact, Plain).map(tasks(random.table, _, Expressions.alwaysTrue())).foreach { ours =>
          assert(ours.map(t => named(t.file())).toSet == files, s"seed $n")
          assert(deletes.subsetOf(ours.flatMap(_.deletes().asScala.map(named)).toSet), s"seed $n")
        }
      }
    }
  }

  test("a snapshot with deletes has Iceberg's own tasks") {
    val table = TestTable.create(Columns, PartitionSpec.builderFor(_).identity("p").build())
    val (one, other) = (file(table, new Rng(1)), file(table, new Rng(2)))
    table.append(one, other)
    assert(tasks(table, Compact, Expressions.alwaysTrue()).forall(_.isInstanceOf[CompactTask]))
    table.delete(TestFiles.positionDeletesOf(table, one, byBounds = false))
    assert(tasks(table, Compact, Expressions.alwaysTrue()).forall(_.isInstanceOf[BaseFileScanTask]))
  }

  test("a serialized group and a serialized task name no class of zonemap") {
    val table = TestTable.create(Columns, PartitionSpec.builderFor(_).identity("p").build())
    table.append((0 until 50).map(i => file(table, new Rng(i.toLong))): _*)
    val found = tasks(table, Compact, Expressions.alwaysTrue())
    assert(found.map(_.toString) == tasks(table, Plain, Expressions.alwaysTrue()).map(_.toString))
    (found ++ groups(found, 60000, 10, 0)).foreach { any =>
      val text = new String(serialized(any), ISO_8859_1)
      assert(!text.contains("zonemap."), text)
    }
  }

  test("tasks need neither the store nor an undamaged segment any more, in memory or in the store") {
    val table = TestTable.create(Columns, PartitionSpec.builderFor(_).identity("p").build())
    // long paths, so that one block of them is a small part of all, which one read would retain
    def long(rng: Rng) =
      (0 until 40).map(_ => rng.int(1 << 30).toHexString).mkString("mem://lake/data/", "", ".parquet")
    table.append((0 until 5000).map { i =>
      val rng = new Rng(i.toLong)
      DataFiles.builder(table.spec).copy(file(table, rng)).withPath(long(rng)).build()
    }: _*)
    Planning.build(table)
    val expected = Planning.stock(table).map(_.file().location()).sorted
    Seq(false, true).foreach { cold =>
      if (cold) process.restart()
      val found = tasks(table, Planning.Off, Expressions.alwaysTrue())
      assert(found.forall(_.isInstanceOf[CompactTask]))
      val kept = table.io.storeFiles.map(name => name -> table.io.bytes(name))
      kept.foreach { case (name, bytes) => table.io.put(name, bytes.map(b => (~b).toByte)) }
      process.restart()
      try
        assert(
          groups(found, 60000, 10, 0)
            .flatMap(group => received(group).tasks().asScala)
            .map(_.file().location())
            .distinct
            .sorted
            == expected)
      finally kept.foreach { case (name, bytes) => table.io.put(name, bytes) }
    }
  }

  test("several threads make the files of one plan at the same time") {
    val table = TestTable.create(Columns, PartitionSpec.builderFor(_).identity("p").build())
    table.append((0 until 600).map(i => file(table, new Rng(i.toLong))): _*)
    val found = tasks(table, Compact, Expressions.alwaysTrue())
    val expected = tasks(table, Plain, Expressions.alwaysTrue()).map(wholes)
    val pool = java.util.concurrent.Executors.newFixedThreadPool(4)
    try {
      val made = (0 until 8).map(_ => pool.submit(() => found.map(wholes)))
      made.foreach(m => assert(m.get() == expected))
    } finally pool.shutdownNow(): Unit
  }
}

private object CompactTasksTest {
  val Columns: Schema =
    new Schema(required(1, "id", Types.LongType.get()), optional(2, "p", Types.IntegerType.get()))

  /** A file of a random format, size and split offsets, some of which Iceberg does not believe. */
  def file(table: TestTable, rng: Rng): DataFile = {
    val id = rng.int(1000).toLong
    val partition = Seq[Any](if (rng.chance(10)) null else Int.box(rng.int(3)), Int.box(rng.int(4)))
    val size = rng.pick(Seq(1L, 500L, 999L, 4000L, 100000L, 100000L + rng.int(1000), 300L << 10))
    TestFiles.data(
      table,
      Map("id" -> Stats.range(id, id + 9)),
      partition.take(table.spec.fields().size),
      records = 1L + rng.int(50),
      format = rng.pick(Seq(FileFormat.PARQUET, FileFormat.PARQUET, FileFormat.ORC, FileFormat.AVRO)),
      change = builder => {
        builder.withFileSizeInBytes(size)
        offsets(rng, size).foreach(all => builder.withSplitOffsets(all.map(Long.box).asJava))
      }
    )
  }

  private def offsets(rng: Rng, size: Long): Option[Seq[Long]] =
    rng.int(6) match {
      case 0 | 1 => None
      case 2     => Some(Seq(4L))
      case 3     => Some((0 until 1 + rng.int(5)).map(i => 4L + i * size / 6))
      case 4     => Some(Seq(4L, size)) // the last one lies behind the end
      case _     => Some(Seq(400L, 4L, 4L)) // not in order
    }

  def groups(
      tasks: Seq[FileScanTask],
      splitSize: Long,
      lookback: Int,
      openCost: Long): Seq[ScanTaskGroup[FileScanTask]] =
    Using.resource(
      TableScanUtil.planTaskGroups(CloseableIterable.withNoopClose(tasks.asJava), splitSize, lookback, openCost))(
      _.asScala.toList)

  def totals(group: ScanTaskGroup[FileScanTask]): (Long, Long, Int) =
    (group.sizeBytes(), group.estimatedRowsCount(), group.filesCount())

  def serialized(any: AnyRef): Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    Using.resource(new ObjectOutputStream(bytes))(_.writeObject(any))
    bytes.toByteArray
  }

  /** The group as an executor receives it. */
  def received(group: ScanTaskGroup[FileScanTask]): ScanTaskGroup[FileScanTask] =
    Using.resource(new ObjectInputStream(new ByteArrayInputStream(serialized(group))))(
      _.readObject().asInstanceOf[ScanTaskGroup[FileScanTask]])

  def fields(group: ScanTaskGroup[FileScanTask]): Seq[Any] =
    group
      .groupingKey()
      .size() +: totals(group) +: group.tasks().asScala.toList.map(t => (t.getClass.getName, wholes(t)))

  private def tuple(partition: StructLike): Seq[Any] =
    (0 until partition.size()).map(partition.get(_, classOf[AnyRef]) match {
      case bytes: Array[Byte] => bytes.toSeq
      case other              => other
    })

  /** All that readers and Spark ask of a task. */
  def wholes(task: FileScanTask): Seq[Any] = {
    val file = task.file()
    Seq[Any](
      task.start(),
      task.length(),
      task.sizeBytes(),
      task.filesCount(),
      task.estimatedRowsCount(),
      task.residual().toString,
      task.spec().toString,
      tuple(task.partition()),
      Try(task.schema().asStruct()),
      task.deletes().asScala.map(_.location()).toList,
      task.isFileScanTask,
      task.isDataTask,
      file.location(),
      file.format(),
      file.fileSizeInBytes(),
      file.recordCount(),
      file.splitOffsets(),
      file.sortOrderId(),
      file.firstRowId(),
      file.specId(),
      tuple(file.partition()),
      file.dataSequenceNumber(),
      file.fileSequenceNumber(),
      file.lowerBounds()
    )
  }
}
