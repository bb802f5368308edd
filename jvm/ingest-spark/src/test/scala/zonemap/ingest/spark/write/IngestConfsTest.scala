// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.spark.write

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.scalatest.funsuite.AnyFunSuite

import zonemap.ingest.commit.IngestSettings
import zonemap.ingest.table.IngestRoot
import zonemap.spark.conf.MalformedConfException

/** The confs of append ingestion: defaults, values, malformed values. */
class IngestConfsTest extends AnyFunSuite {

  private def read(session: Map[String, String] = Map.empty, options: Map[String, String] = Map.empty) = {
    val conf = new SQLConf
    session.foreach { case (key, value) => conf.setConfString(s"spark.sql.zonemap.$key", value) }
    val all = new CaseInsensitiveStringMap(options.map { case (key, value) => s"zonemap.$key" -> value }.asJava)
    (IngestConfs.settings(conf, all), IngestConf.Root.read(conf, all))
  }

  test("nothing set: the defaults of the committer, and the key of the root that its messages name") {
    assert(read() == ((IngestSettings(), None)))
    assert(IngestConf.Root.key == IngestRoot.Conf)
  }

  private val values: Seq[(String, String, Any, IngestSettings => Any)] = Seq(
    ("ingest.interval", "500ms", 500L, _.intervalMillis),
    ("ingest.maxDutyCycle", "1", 1.0, _.maxDutyCycle),
    ("ingest.maxFilesPerCommit", "7", 7, _.maxFilesPerCommit),
    ("ingest.mergeManifests", "8", 8, _.mergeManifests),
    ("ingest.softLimitRecords", "9", 9L, _.softLimitRecords),
    ("ingest.hardLimitRecords", "10", 10L, _.hardLimitRecords),
    ("ingest.blockLane.enabled", "TRUE", true, _.blockLane)
  )

  for ((key, value, expected, pick) <- values) test(s"$key='$value' is $expected") {
    assert(pick(read(Map(key -> value))._1) == expected)
    assert(pick(read(options = Map(key -> value))._1) == expected)
  }

  for ((key, value) <- Seq(
      "ingest.interval" -> "soon",
      "ingest.maxDutyCycle" -> "0",
      "ingest.maxDutyCycle" -> "1.1",
      "ingest.maxFilesPerCommit" -> "0",
      "ingest.mergeManifests" -> "-1",
      "ingest.softLimitRecords" -> "0",
      "ingest.hardLimitRecords" -> "many",
      "ingest.blockLane.enabled" -> "perhaps"
    ))
    test(s"$key='$value' is refused") {
      val error = intercept[MalformedConfException](read(Map(key -> value)))
      assert(error.getMessage.contains(s"spark.sql.zonemap.$key='$value'"))
    }
}
