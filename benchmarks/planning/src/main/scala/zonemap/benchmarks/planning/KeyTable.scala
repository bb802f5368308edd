// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.planning

import java.nio.ByteBuffer
import java.nio.file.{Path, Paths}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.iceberg._
import org.apache.iceberg.expressions.Expressions
import org.apache.iceberg.hadoop.HadoopTables
import org.apache.iceberg.types.{Conversions, Types}

import zonemap.core.fact.{FactBuilder, FactKind}
import zonemap.core.predicate.ColumnId
import zonemap.core.value.ZoneValues
import zonemap.core.version.FactRef
import zonemap.iceberg.admin.IndexAdmin
import zonemap.iceberg.build.LocalRunner
import zonemap.iceberg.fact._
import zonemap.iceberg.plan.ZoneMapTable
import zonemap.iceberg.settings.{PlannerSettings, UpkeepMode}
import zonemap.iceberg.snapshot.TableFacts
import zonemap.iceberg.store.{IndexStore, StoreAccess}
import zonemap.iceberg.upkeep.UpkeepProcess

/** Keys that look random. The key of each number is another one, so a number of no file gives a key of no file. */
private[planning] object RandomKeys {
  private val FirstAbsent = 1L << 62

  def of(number: Long): Long = {
    // the end of MurmurHash3, which maps the numbers of 64 bits onto themselves
    var key = number ^ number >>> 33
    key *= 0xff51afd7ed558ccdL
    key ^= key >>> 33
    key *= 0xc4ceb9fe1a85ec53L
    key ^ key >>> 33
  }

  def ofFile(file: Int, keys: Int): Iterator[Long] = Iterator.tabulate(keys)(i => of(file.toLong * keys + i))

  def absent(i: Int): Long = of(FirstAbsent + i)
}

/** A table of data files that exist in metadata only, whose column `user_id` has random keys, and its index of keys. */
private[planning] final class KeyTable(folder: Path, files: Int, keys: Int) {
  private val io = new RemoteFileIO(0)
  private val location = folder.resolve(s"keys-$files-$keys")
  private val settings =
    PlannerSettings(upkeep = UpkeepMode.Off, storeLocation = Some(SlowFileSystem.location(s"$location-index")))
  private val process = UpkeepProcess.ofJvm.index

  private val table: BaseTable = {
    val schema = new Schema(Types.NestedField.required(1, "user_id", Types.LongType.get()))
    Seq(location, Paths.get(s"$location-index")).foreach(BenchmarkFiles.deleteTree)
    val created = new HadoopTables(SlowFileSystem.configuration())
      .create(schema, PartitionSpec.unpartitioned(), SlowFileSystem.location(location.toString))
    val append = created.newFastAppend()
    (0 until files).foreach(file => append.appendFile(dataFile(file)))
    append.commit()
    val operations = SlowFileSystem.load(location.toString).operations()
    new BaseTable(new Through(operations, io), location.toString)
  }
  private val snapshot = table.currentSnapshot()

  private def dataFile(file: Int): DataFile = {
    val all = RandomKeys.ofFile(file, keys)
    val (least, most) = all.foldLeft((Long.MaxValue, Long.MinValue)) { case ((a, b), key) => (a.min(key), b.max(key)) }
    def bound(value: Long) = Map[Integer, ByteBuffer](
      Integer.valueOf(1) -> Conversions.toByteBuffer(Types.LongType.get(), Long.box(value))).asJava
    def counts(value: Long) = Map[Integer, java.lang.Long](Integer.valueOf(1) -> Long.box(value)).asJava
    DataFiles
      .builder(PartitionSpec.unpartitioned())
      .withPath(s"slow:/data/file-$file.parquet")
      .withFormat(FileFormat.PARQUET)
      .withFileSizeInBytes(keys * KeyTable.BytesOfRow)
      .withMetrics(new Metrics(keys.toLong, null, counts(keys.toLong), counts(0), null, bound(least), bound(most)))
      .build()
  }

  /** Builds the index and its keys; returns the CPU of the tasks that hash the keys, and of all else: the joins. */
  def build(): (Run, Double) = {
    process.clear()
    new IndexAdmin(process).build(table, snapshot, settings, new LocalRunner(_)): Unit
    val reader: FactReader = (file, _, builders) => {
      val number = file.path.replaceAll("\\D", "").toInt
      RandomKeys.ofFile(number, keys).foreach(key => builders.foreach(_.add(ZoneValues.ofLong(key))))
    }
    var inTasks = 0.0
    val runner: FactTaskRunner = (tasks, store) => {
      val (refs, run) = Measure.run(tasks.flatMap(_.write(reader, store)))
      inTasks += run.cpuMillis
      refs
    }
    val requests = FactRequest.parse("keys(user_id)", table)
    val (_, run) = Measure.run {
      new FactBuild(process).build(table, snapshot, settings, requests, runner, FactLimit.Unlimited)
    }
    (run, inTasks)
  }

  /** The files of keys. */
  def refs: Seq[FactRef] = process.tables.of(table).facts.refs

  def pathOf(ref: FactRef): String = s"$location-index/${table.uuid()}/${ref.relativePath}"

  /** The requests of one look-up by a process that has nothing in memory but the list of files. */
  def coldRequests(key: Long): Long = {
    val store = IndexStore.of(table, settings.storeLocation, new StoreAccess)
    val facts = new TableFacts(1, refs, store)
    io.traffic(): Unit
    facts.files(ColumnId(1), FactKind.Keys).foreach { case (_, file) =>
      file.keyIndex.get.holding(Array(zonemap.core.fact.FactHashes.ofValue(ZoneValues.ofLong(key))))
    }
    io.traffic().requests
  }

  /** Plans `user_id = key` from the index, or by Iceberg alone, and returns the number of files. */
  def plan(key: Long, byIndex: Boolean): Int = {
    val scan =
      if (byIndex)
        new ZoneMapTable(table.operations(), location.toString, table.reporter(), snapshot.snapshotId(), settings)
          .newBatchScan()
      else table.newBatchScan()
    val asked = scan.useSnapshot(snapshot.snapshotId()).filter(Expressions.equal("user_id", Long.box(key)))
    Using.resource(asked.planFiles())(_.asScala.size)
  }

  def built(kind: FactKind, file: Int): Array[Byte] = {
    val builder = FactBuilder.of(kind, keys.toLong, 1)
    RandomKeys.ofFile(file, keys).foreach(key => builder.add(ZoneValues.ofLong(key)))
    builder.build()
  }
}

private object KeyTable {
  private val BytesOfRow = 100L
}
