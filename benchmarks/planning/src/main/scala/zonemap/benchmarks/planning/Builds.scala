// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.planning

import java.nio.file.Path

import org.apache.iceberg.Table

import zonemap.iceberg.admin.IndexAdmin
import zonemap.iceberg.build.LocalRunner
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.upkeep.UpkeepProcess

/** Measures the cost of indexing a table as a Spark job, and of updating the index commit by commit. */
private[planning] object Builds {
  private val Commits = 20

  /** Measures `CALL build` on the table in that folder, after its index has been dropped. */
  def bySparkJob(location: Path): Run = {
    val spark = BenchmarkSession.withLake(location.getParent.getParent.toString)
    try {
      val name = s"lake.`${location.getParent.getFileName}`.`${location.getFileName}`"
      spark.sql(s"CALL zonemap.system.drop_index(table => '$name', dry_run => false)").collect(): Unit
      UpkeepProcess.ofJvm.index.clear()
      Measure.run(spark.sql(s"CALL zonemap.system.build_index(table => '$name')").collect())._2
    } finally spark.stop()
  }

  /** Measures a refresh of the store after each of several commits, by a driver that has nothing in memory. */
  def afterCommits(table: Table, atlas: AtlasTable, settings: PlannerSettings): Seq[Run] =
    (0 until Commits).map { _ =>
      atlas.appendMore(table, commits = 1)
      table.refresh()
      UpkeepProcess.ofJvm.index.clear()
      Measure
        .run(
          new IndexAdmin(UpkeepProcess.ofJvm.index)
            .refresh(table, table.currentSnapshot(), settings, new LocalRunner(_)))
        ._2
    }
}
