// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.store

import org.apache.iceberg.Schema
import org.apache.iceberg.types.Types
import org.apache.iceberg.types.Types.NestedField.required
import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.plan.Planning
import zonemap.iceberg.testing.{OwnProcess, TestTable}

/** Where the indexes of tables may be kept. */
class StoreLocationTest extends AnyFunSuite with OwnProcess {
  private def table(): TestTable = TestTable.create(new Schema(required(1, "id", Types.LongType.get())))

  test("absolute are locations with a scheme or a leading slash, and without parts of dots") {
    Seq(
      "/x",
      "/",
      "s3://b/x",
      "s3a://b",
      "file:/x",
      "file:///x/y",
      "abfss://c@a.dfs/x",
      "hdfs://nn:8020/x",
      "mem://lake/x/")
      .foreach(location => assert(StoreLocation.isAbsolute(location), location))
    Seq("", "x", "x/y", "./x", "../x", "~/x", "file:x", "s3:x", "/x/../y", "s3://b/./x", "/..", "://x")
      .foreach(location => assert(!StoreLocation.isAbsolute(location), location))
  }

  test("no index lies in the folders of the table's data and metadata, wherever they are") {
    val t = table()
    val location = t.load().location()
    t.load().updateProperties().set("write.data.path", "s3://other/files").set("write.metadata.path", "/meta").commit()
    def refused(at: String) = StoreLocation.refusal(t.load(), at)
    Seq(
      s"$location/data" -> "data",
      s"$location//data/x/" -> "data",
      s"$location/metadata/index" -> "metadata",
      "s3://other/files/x" -> "data",
      "s3a://other/files" -> "data",
      "/meta/x" -> "metadata",
      "file:/meta" -> "metadata"
    ).foreach { case (at, name) =>
      assert(refused(at).exists(_.contains(s"the table's own $name folder")), at)
    }
    Seq(location, s"$location/index", s"$location/database", "s3://others/files/x", "/metadata", "/", "/met")
      .foreach(at => assert(refused(at).isEmpty, at))
    assert(refused("index").exists(_.contains("it is not absolute")))
  }

  test("procedures fail with what is wrong and which key to mend") {
    val t = table()
    val settings = Planning.Off.copy(storeLocation = Some(s"${t.load().location()}/data/index"))
    val error = intercept[IllegalArgumentException](process.status.of(t.load(), None, settings))
    assert(error.getMessage.startsWith(s"Cannot keep the index of '${t.name}' in "))
    assert(error.getMessage.endsWith("Name another folder by spark.sql.zonemap.store.location."))
  }
}
