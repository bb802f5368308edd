// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.planning

import java.nio.file.{Files, Path, Paths}

import org.apache.iceberg._
import org.apache.iceberg.encryption.EncryptionManager
import org.apache.iceberg.io.{FileIO, LocationProvider}

import zonemap.benchmarks.planning.MatrixTables.storeOf
import zonemap.iceberg.admin.IndexAdmin
import zonemap.iceberg.build.LocalRunner
import zonemap.iceberg.plan.ZoneMapTable
import zonemap.iceberg.settings.{PlannerSettings, UpkeepMode}
import zonemap.iceberg.upkeep.UpkeepProcess

/**
 * A table of [[PlanningMatrix]].
 *
 * @param isCentre whether further snapshots of the table are measured: later ones, and ones with deletes
 */
final case class Shape(files: Int, columns: Int = 30, isCentre: Boolean = false) {
  def name: String = s"matrix-$files-$columns"
  def atlas: AtlasTable = AtlasTable.ofSize(files, columns)
}

/**
 * The tables of [[PlanningMatrix]], created once in a work folder and reused. Their locations have a scheme of their
 * own, so that Iceberg and the index do not treat them as local files.
 *
 * Each table has a tag `indexed` at the snapshot that its index covers. The table at the centre also has tags
 * `behind-n`, n commits of 32 files later, which the index does not cover, and branches `deletes-n` with deletes for n
 * % of the files, each with an index of its own.
 *
 * Usage: `MatrixTables <work folder> <centre> <files>...`
 */
final class MatrixTables(folder: Path) {
  Files.createDirectories(folder)

  /** Opens one snapshot of a table through a FileIO that counts requests; creates the table if it does not exist. */
  def open(
      shape: Shape,
      ref: String = MatrixTables.Indexed,
      requestMillis: Long = 0,
      properties: Map[String, String] = Map.empty): OpenedTable = {
    val location = locationOf(shape)
    if (!Files.exists(doneOf(shape))) make(shape, location)
    new OpenedTable(location, ref, new RemoteFileIO(requestMillis, properties))
  }

  def locationOf(shape: Shape): String = folder.resolve(shape.name).toString

  private def doneOf(shape: Shape) = folder.resolve(s"${shape.name}${if (shape.isCentre) "-centre" else ""}.done")

  private def make(shape: Shape, location: String): Unit = {
    val stores = MatrixTables.Indexed +: MatrixTables.DeletedPercents.map(MatrixTables.deletesBranch)
    (location +: stores.map(storeOf(location, _))).foreach(path => BenchmarkFiles.deleteTree(Paths.get(path)))
    println(s"${shape.name}: writing metadata")
    val table = shape.atlas.create(SlowFileSystem.location(location))
    table.manageSnapshots().createTag(MatrixTables.Indexed, table.currentSnapshot().snapshotId()).commit()
    if (shape.isCentre) addSnapshots(shape, table)
    println(s"${shape.name}: indexing")
    index(location, MatrixTables.Indexed)
    if (shape.isCentre) MatrixTables.DeletedPercents.foreach(p => index(location, MatrixTables.deletesBranch(p)))
    Files.createFile(doneOf(shape)): Unit
  }

  private def addSnapshots(shape: Shape, table: Table): Unit = {
    MatrixTables.DeletedPercents.foreach { percent =>
      println(s"${shape.name}: writing deletes of $percent % of the files")
      val branch = MatrixTables.deletesBranch(percent)
      table.manageSnapshots().createBranch(branch, table.snapshot(MatrixTables.Indexed).snapshotId()).commit()
      shape.atlas.delete(table, percent / 100.0, branch)
    }
    (1 to MatrixTables.CommitsBehind.max).foreach { commit =>
      shape.atlas.appendMore(table, commits = 1)
      if (MatrixTables.CommitsBehind.contains(commit))
        table.manageSnapshots().createTag(MatrixTables.behindTag(commit), table.currentSnapshot().snapshotId()).commit()
    }
  }

  private def index(location: String, ref: String): Unit = {
    val opened = new OpenedTable(location, ref, new RemoteFileIO(0))
    UpkeepProcess.ofJvm.index.clear()
    new IndexAdmin(UpkeepProcess.ofJvm.index)
      .build(opened.table, opened.table.snapshot(opened.snapshotId), opened.settings, new LocalRunner(_)): Unit
  }
}

object MatrixTables {
  val Indexed = "indexed"
  val CommitsBehind: Seq[Int] = Seq(1, 10, 100)
  val DeletedPercents: Seq[Int] = Seq(1, 50)

  def behindTag(commits: Int): String = s"behind-$commits"
  def deletesBranch(percent: Int): String = s"deletes-$percent"

  /** The location of the index of that snapshot. Snapshots `behind-n` use the index of the snapshot `indexed`. */
  private[planning] def storeOf(location: String, ref: String): String =
    if (ref.startsWith("deletes-")) s"$location-index-$ref" else s"$location-index"

  /**
   * The shapes to measure: every size with 30 columns, the centre with 10, and the centre (at most 100,000 files) with
   * 100.
   */
  def shapes(centre: Int, sizes: Seq[Int]): MatrixShapes =
    MatrixShapes(
      sizes.map(files => Shape(files, isCentre = files == centre)),
      Shape(centre, isCentre = true),
      Seq(Shape(centre, columns = 10), Shape(math.min(centre, 100000), columns = 100))
    )

  def main(arguments: Array[String]): Unit = {
    val tables = new MatrixTables(Paths.get(arguments(0)).toAbsolutePath)
    val all = shapes(arguments(1).toInt, arguments.drop(2).map(_.toInt).toSeq)
    (all.bySize ++ all.byColumns :+ all.centre).foreach(shape => tables.open(shape))
  }
}

/** The tables of one run of the matrix. */
final case class MatrixShapes(bySize: Seq[Shape], centre: Shape, byColumns: Seq[Shape])

/** One snapshot of a table with its index, opened through a FileIO that counts requests. */
private[planning] final class OpenedTable(val location: String, ref: String, val io: RemoteFileIO) {
  private val operations = new Through(SlowFileSystem.load(location).operations(), io)

  val table: BaseTable = new BaseTable(operations, location)

  val snapshotId: Long = table.snapshot(ref).snapshotId()

  val settings: PlannerSettings = settingsOf(storeOf(location, ref))

  /** A scan that Iceberg plans. */
  def stockScan(): BatchScan = table.newBatchScan().useSnapshot(snapshotId)

  /** A scan of a new relation that is planned from the index. */
  def indexScan(): BatchScan = scan(settings)

  /** The same scan with a store location that contains no index. */
  def scanWithoutIndex(): BatchScan = scan(settingsOf(s"$location-nowhere"))

  private def scan(by: PlannerSettings): BatchScan =
    new ZoneMapTable(operations, location, table.reporter(), snapshotId, by).newBatchScan().useSnapshot(snapshotId)

  private def settingsOf(store: String) =
    PlannerSettings(upkeep = UpkeepMode.Off, storeLocation = Some(SlowFileSystem.location(store)))
}

/** The operations of a table, with another FileIO. */
private final class Through(operations: TableOperations, override val io: FileIO) extends TableOperations {
  override def current(): TableMetadata = operations.current()
  override def refresh(): TableMetadata = operations.refresh()
  override def commit(base: TableMetadata, metadata: TableMetadata): Unit = operations.commit(base, metadata)
  override def encryption(): EncryptionManager = operations.encryption()
  override def metadataFileLocation(name: String): String = operations.metadataFileLocation(name)
  override def locationProvider(): LocationProvider = operations.locationProvider()
}
