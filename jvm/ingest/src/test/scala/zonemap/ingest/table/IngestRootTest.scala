// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.table

import java.nio.file.Files

import org.apache.iceberg.TableProperties
import org.scalatest.funsuite.AnyFunSuite

import zonemap.ingest.{IngestTable, IngestTables}
import zonemap.ingest.gc.IngestGc
import zonemap.ingest.queue.QueueIdentity

class IngestRootTest extends AnyFunSuite {
  private val Inside = IngestRoot.DefaultName

  private def withProperty(t: IngestTable, root: String): Unit =
    t.reload().updateProperties().set(IngestRoot.Property, root).commit()

  private def rootOf(t: IngestTable, configured: Option[String] = None): String =
    IngestRoot.of(t.reload(), configured).location

  private def below(t: IngestTable, name: String) = s"${t.table.location()}/$name/${t.table.uuid()}"

  test("a name that begins with an underscore is a folder in the folder of each table") {
    Seq(Inside, "_q", "_queue.of-7", s"$Inside/").foreach { name =>
      val t = IngestTables.hadoop()
      assert(rootOf(t, Some(name)) == below(t, name.stripSuffix("/")))
      withProperty(t, name)
      assert(rootOf(t) == below(t, name.stripSuffix("/")))
    }
  }

  test("the property and the configuration must name the same root") {
    val t = IngestTables.hadoop()
    withProperty(t, "/ingest/")
    assert(rootOf(t) == s"/ingest/${t.table.uuid()}" && rootOf(t, Some("/ingest")) == rootOf(t))
    val error = intercept[IllegalArgumentException](rootOf(t, Some("/other")))
    assert(error.getMessage.contains("the table property zonemap.ingest.root is '/ingest/'"))
  }

  test("other relative roots and folders of the table are refused") {
    val t = IngestTables.hadoop()
    Seq("spool", "_a/b", "_", "..", s"$Inside/..").foreach { root =>
      val error = intercept[IllegalArgumentException](rootOf(t, Some(root)))
      assert(error.getMessage.contains("it is not absolute") && error.getMessage.contains(s"'$Inside'"), error)
    }
    Seq("data/_q", "spool", Inside).foreach { folder =>
      val error = intercept[IllegalArgumentException](rootOf(t, Some(s"${t.table.location()}/$folder")))
      assert(error.getMessage.contains("it lies in the table's folder"), error)
    }
  }

  test("records are appended and committed through a queue in the table's folder") {
    val t = IngestTables.hadoop(properties = Map(IngestRoot.Property -> Inside))
    t.append("a", t.dataFile("a0"))
    assert(t.root.startsWith(t.table.location()) && Files.exists(t.root.resolve("queue-id.json")))
    assert(t.pass().isCommit && t.live() == Seq("a0"))
  }

  Seq((None, Some(Inside)), (Some(Inside), None)).foreach { case (first, second) =>
    test(s"a queue in root $first is not hidden by a new one in root $second") {
      val t = IngestTables.hadoop()
      val root = IngestTarget.spool(t.reload(), first).files.root
      val error = intercept[IllegalArgumentException](IngestTarget.spool(t.reload(), second))
      assert(error.getMessage.contains(s"its queue is in '$root'"))
      assert(QueueIdentity.read(IngestRoot.of(t.reload(), second).files(t.io)).isEmpty)
      withProperty(t, IngestRoot.setting(t.table, root))
      assert(IngestTarget.spool(t.reload(), None).files.root == root)
    }
  }

  test("a root that a person has chosen is used beside the queue of an original") {
    val t = IngestTables.hadoop()
    IngestTarget.spool(t.reload(), None)
    assert(IngestTarget.spool(t.reload(), Some("_of_the_copy")).files.root == below(t, "_of_the_copy"))
  }

  test("a table that is moved does not leave the queue in its folder behind") {
    val folder = IngestTables.folder()
    val t = IngestTables.in(IngestTables.jdbc(folder))
    withProperty(t, Inside)
    t.append("a", t.dataFile("a0"))
    val former = t.target.files.root
    t.reload().updateLocation().setLocation(s"file:$folder/elsewhere/events").commit()
    assert(intercept[IllegalArgumentException](t.target).getMessage.contains(s"its queue is in '$former'"))
    withProperty(t, former.stripSuffix(s"/${t.table.uuid()}"))
    assert(t.pass().isCommit && t.live() == Seq("a0"))
  }

  test("gc refuses a data folder with the queue in it, and one that is the table's folder") {
    Seq[(String => String, String, String)](
      (location => s"$location/_q", "_q", "holds its ingest queue"),
      (location => s"$location/", Inside, "holds its ingest queue"),
      (location => s"$location/", "/tmp/elsewhere", "is not in the table's folder")
    ).foreach { case (data, root, why) =>
      val t = IngestTables.hadoop()
      t.reload().updateProperties().set(TableProperties.WRITE_DATA_LOCATION, data(t.table.location())).commit()
      val chosen = if (root.startsWith("/")) IngestTables.folder().toString else root
      val target = IngestTarget.spool(t.reload(), Some(chosen))
      val error =
        intercept[IllegalArgumentException](new IngestGc(target, t.clock).run(72 * 3600 * 1000L, dryRun = true))
      assert(error.getMessage.contains(why), error)
    }
  }
}
