// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.spark.write

import org.apache.iceberg.DataFile
import org.apache.spark.sql.connector.distributions.{Distribution, Distributions}
import org.apache.spark.sql.connector.expressions.SortOrder
import org.apache.spark.sql.connector.write.RequiresDistributionAndOrdering
import org.apache.spark.sql.connector.write.streaming.StreamingWrite
import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.testing.LoggedWarnings
import zonemap.ingest.queue.Receipt

/** Decisions of the sink that need no table. */
class IngestWriteTest extends AnyFunSuite {
  private object Iceberg extends RequiresDistributionAndOrdering {
    override def requiredDistribution(): Distribution = Distributions.unspecified()
    override def requiredOrdering(): Array[SortOrder] = Array.empty
    override def toStreaming(): StreamingWrite = null
  }

  /** A query whose epochs up to 3 are commits of Iceberg's sink. */
  private object Producer extends IngestSink.Producer {
    override def append(place: Option[LanePlace], files: Seq[DataFile], startedAtMillis: Long): Receipt =
      fail("the epoch has no files")
    override def lastDirectEpoch(queryId: String): Option[Long] = Some(3)
  }

  private val stream = new IngestWrite("lake.db.events", Iceberg, Producer, "query", None).toStreaming

  test("the last epoch of Iceberg's sink is dropped, and an earlier one is an error") {
    def epoch(id: Long): Seq[String] = LoggedWarnings.of("zonemap.ingest")(stream.commit(id, Array.empty))
    assert(epoch(3).exists(_.startsWith("Epoch 3 of query query is dropped")) && epoch(4).isEmpty)
    val error = intercept[IllegalArgumentException](epoch(2))
    assert(error.getMessage.startsWith("Cannot append epoch 2 of query query to 'lake.db.events'"))
    assert(error.getMessage.contains("needs a new checkpoint"))
  }

  test("a queue that fails to close does not change the result of an append") {
    val failing: AutoCloseable = () => throw new IllegalStateException("no close")
    val warnings = LoggedWarnings.of("zonemap.ingest")(assert(IngestSink.closing("t", failing)(_ => 7) == 7): Unit)
    assert(warnings.size == 1 && warnings.head.contains("no close"))
    val error = intercept[IllegalArgumentException](
      IngestSink.closing("t", failing)(_ => throw new IllegalArgumentException("no append")))
    assert(error.getMessage == "no append")
  }
}
