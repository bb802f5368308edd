// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.planning

import java.nio.ByteBuffer
import java.nio.file.Paths
import java.util.{HashMap => JHashMap, Random}

import org.apache.iceberg.{
  DataFile,
  DataFiles,
  DeleteFile,
  FileFormat,
  FileMetadata,
  Metrics,
  PartitionData,
  PartitionSpec,
  Schema,
  Table
}
import org.apache.iceberg.hadoop.HadoopTables
import org.apache.iceberg.types.{Conversions, Type, Types}

/**
 * A table of the shape of Netflix's Atlas table, metadata only: the data files have bounds but were never written.
 *
 * The table is partitioned by day(ts) and region. Inside a partition the files split 1,000,000 metric names in order,
 * as a sorted writer would; `seq` follows the write order; `id` and the fillers span their domain in every file. Each
 * commit is one fast append over all regions. The same seed gives the same table.
 *
 * Usage: `AtlasTable <location> <files>`
 *
 * @param files number of data files
 * @param columns number of top-level columns with bounds, at least 6
 * @param commits number of appends over which the files are spread
 * @param tags whether the table has a map column `tags`, which has no bounds
 * @param byEngine whether the commits are those of Spark, so that the statistics are believed without footers
 */
final case class AtlasTable(
    files: Int,
    columns: Int,
    commits: Int,
    seed: Long = 1,
    tags: Boolean = false,
    byEngine: Boolean = false) {
  import AtlasTable._

  private val days = math.max(1, math.min(28, files / 3500))
  private val fillers = columns - CoreColumns

  val schema: Schema = {
    val core = Seq(
      Types.NestedField.required(1, "ts", Types.TimestampType.withZone()),
      Types.NestedField.required(2, "region", Types.StringType.get()),
      Types.NestedField.required(3, "name", Types.StringType.get()),
      Types.NestedField.required(4, "seq", Types.LongType.get()),
      Types.NestedField.required(5, "id", Types.LongType.get()),
      Types.NestedField.required(6, "type", Types.StringType.get())
    )
    val rest = (0 until fillers).map { i =>
      val fillerType: Type = i % 3 match {
        case 0 => Types.LongType.get()
        case 1 => Types.DoubleType.get()
        case _ => Types.StringType.get()
      }
      Types.NestedField.optional(CoreColumns + 1 + i, s"filler_$i", fillerType)
    }
    val map = Types.MapType.ofOptional(columns + 2, columns + 3, Types.StringType.get(), Types.StringType.get())
    new Schema((core ++ rest ++ Option.when(tags)(Types.NestedField.optional(columns + 1, "tags", map))): _*)
  }

  private val spec = PartitionSpec.builderFor(schema).day("ts").identity("region").build()

  // The object is reused, because each new one creates an Avro schema, which takes longer than the rest of the file.
  private val partition = new PartitionData(spec.partitionType())
  private val builder = DataFiles.builder(spec)

  /** Creates the table at `location` and appends all files. Not thread-safe. */
  def create(location: String): Table = {
    val table = new HadoopTables(SlowFileSystem.configuration()).create(schema, spec, location)
    val random = new Random(seed)
    val perCommit = math.ceil(files.toDouble / commits).toInt
    (0 until files).grouped(perCommit).foreach { group =>
      val append = table.newFastAppend()
      if (byEngine) append.set("spark.app.id", "benchmark"): Unit
      group.foreach(i => append.appendFile(dataFile(i, random)))
      append.commit()
    }
    table
  }

  /** Appends `commits` commits of 32 files each; all files belong to the last day. */
  def appendMore(table: Table, commits: Int): Unit = {
    val random = new Random(seed + 1)
    (0 until commits).foreach { _ =>
      val append = table.newFastAppend()
      (0 until FilesAnAppend).foreach(_ => append.appendFile(dataFile(files - 1, random)))
      append.commit()
    }
  }

  /** Commits position deletes to a branch: a fraction `share` of the data files gets one delete file each. */
  def delete(table: Table, share: Double, branch: String): Unit = {
    val every = math.max(1, math.round(1 / share).toInt)
    val delta = table.newRowDelta().toBranch(branch)
    val random = new Random(seed)
    (0 until files).foreach { i =>
      val file = dataFile(i, random)
      if (i % every == 0) delta.addDeletes(positionDeletes(table.spec(), file)): Unit
    }
    delta.commit()
  }

  private def positionDeletes(tableSpec: PartitionSpec, of: DataFile): DeleteFile =
    FileMetadata
      .deleteFileBuilder(tableSpec)
      .ofPositionDeletes()
      .withPath(of.location().replace(".parquet", "-deletes.parquet"))
      .withFormat(FileFormat.PARQUET)
      .withFileSizeInBytes(2000)
      .withRecordCount(10)
      .withPartition(of.partition())
      .withReferencedDataFile(of.location())
      .build()

  private def dataFile(i: Int, random: Random): DataFile = {
    val day = (i.toLong * days / files).toInt
    val region = i % Regions
    val perPartition = math.max(1, files / (days * Regions))
    val slot = (i / Regions) % perPartition
    partition.set(0, Integer.valueOf(FirstDay + day))
    partition.set(1, regionName(region))
    builder.clear()
    builder
      .withPath(f"file:/atlas/data/day=$day%02d/region=$region%02d/part-$i%09d-${random.nextLong().abs}%019d.parquet")
      .withFormat(FileFormat.PARQUET)
      .withFileSizeInBytes(FileBytes)
      .withPartition(partition)
      .withMetrics(metrics(i, day, region, slot, perPartition, random))
      .build()
  }

  private def metrics(i: Int, day: Int, region: Int, slot: Int, perPartition: Int, random: Random): Metrics = {
    val lower = new JHashMap[Integer, ByteBuffer]
    val upper = new JHashMap[Integer, ByteBuffer]
    val counts = new JHashMap[Integer, java.lang.Long]
    val nulls = new JHashMap[Integer, java.lang.Long]
    val nans = new JHashMap[Integer, java.lang.Long]
    def put(id: Int, from: Any, until: Any): Unit = {
      val fieldType = schema.findType(id)
      lower.put(id, Conversions.toByteBuffer(fieldType, from))
      upper.put(id, Conversions.toByteBuffer(fieldType, until))
      counts.put(id, Rows)
      nulls.put(id, 0L)
      if (fieldType.typeId() == Type.TypeID.DOUBLE) nans.put(id, 0L): Unit
    }
    val dayStart = (FirstDay + day).toLong * MicrosPerDay
    put(1, dayStart + random.nextInt(1000), dayStart + MicrosPerDay - 1 - random.nextInt(1000))
    put(2, regionName(region), regionName(region))
    put(3, metricName(Names.toLong * slot / perPartition), metricName(Names.toLong * (slot + 1) / perPartition - 1))
    put(4, i.toLong * Rows, (i + 1L) * Rows - 1)
    put(5, random.nextInt(1000).toLong, Long.MaxValue - random.nextInt(1000))
    put(6, "counter", "timer")
    (0 until fillers).foreach { f =>
      val id = CoreColumns + 1 + f
      f % 3 match {
        case 0 => put(id, random.nextInt(1 << 20).toLong, Long.MaxValue - random.nextInt(1 << 20))
        case 1 => put(id, random.nextDouble(), 1e6 + random.nextDouble())
        case _ => put(id, f"a${random.nextInt(1 << 20)}%015d", f"z${random.nextInt(1 << 20)}%015d")
      }
    }
    new Metrics(Rows, null, counts, nulls, nans, lower, upper)
  }

  /** The name of metric `n`, 16 characters; names sort like their numbers. */
  def metricName(n: Long): String = f"metric.${n}%09d"

  /** The start of day `day` of the table, in microseconds since the epoch. */
  def dayMicros(day: Int): Long = (FirstDay + day).toLong * MicrosPerDay

  def dayCount: Int = days
}

object AtlasTable {

  /** A table with about 300 files per commit, but with 336 commits at most. */
  def ofSize(files: Int, columns: Int): AtlasTable =
    AtlasTable(files, columns, commits = math.max(1, math.min(336, files / 300)))

  /** Writes the table with its map column in 336 commits, and replaces an existing table. */
  def main(arguments: Array[String]): Unit = {
    val Array(location, files, byEngine @ _*) = arguments: @unchecked
    BenchmarkFiles.deleteTree(Paths.get(location))
    AtlasTable(files.toInt, columns = 30, commits = 336, tags = true, byEngine = byEngine.nonEmpty)
      .create(Paths.get(location).toUri.toString): Unit
  }

  val Names = 1000000
  private val FilesAnAppend = 32
  private val Regions = 96
  private val CoreColumns = 6
  private val Rows = 100000L
  private val FileBytes = 128L << 20
  private val FirstDay = 19723 // 2024-01-01
  private val MicrosPerDay = 86400L * 1000 * 1000

  private def regionName(region: Int): String = f"region-$region%02d"
}
