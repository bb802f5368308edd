// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.store

import java.nio.file.{Files, Path}
import java.util.concurrent.{Callable, Executors, TimeUnit}

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.iceberg.hadoop.HadoopFileIO
import org.scalatest.funsuite.AnyFunSuite

/** The contract of [[IngestFiles]], for the local files and for files through a `FileIO`. */
class LocalFilesTest extends AnyFunSuite {
  private def folder(): Path = Files.createTempDirectory("ingest-files")

  private val implementations = Seq[(String, Path => IngestFiles)](
    "local files" -> (path => IngestFiles.of(null, path.toString)),
    "local files with a scheme" -> (path => IngestFiles.of(null, s"file:$path")),
    "files through a FileIO" -> (path => new FileIOFiles(new HadoopFileIO(new Configuration()), s"file:$path"))
  )

  implementations.foreach { case (name, make) =>
    test(s"$name: a file is created once and never replaced") {
      val files = make(folder())
      assert(files.create("pending/a/1.rec", "one".getBytes))
      assert(!files.create("pending/a/1.rec", "two".getBytes))
      assert(files.read("pending/a/1.rec", 100).map(new String(_)).contains("one"))
      assert(files.length("pending/a/1.rec").contains(3L))
    }

    test(s"$name: an advisory file is replaced") {
      val files = make(folder())
      files.replace("status.json", "one".getBytes)
      files.replace("status.json", "three".getBytes)
      assert(files.read("status.json", 100).map(new String(_)).contains("three"))
    }

    test(s"$name: what is missing is missing, and not an error") {
      val files = make(folder())
      assert(files.read("no/such", 10).isEmpty && files.length("no/such").isEmpty && files.list("no").isEmpty)
      files.delete("no/such")
    }

    test(s"$name: a listing has every file below a folder, without temporary ones") {
      val root = folder()
      val files = make(root)
      files.create("pending/a/1.rec", "one".getBytes)
      files.create("pending/b/2.rec", "three".getBytes)
      files.create("state/3.json", Array.emptyByteArray)
      Files.writeString(root.resolve("pending/a/.4.rec.0123.tmp"), "torn")
      val found = files.list("pending").map(f => f.path -> f.sizeBytes).toMap
      assert(found == Map("pending/a/1.rec" -> 3L, "pending/b/2.rec" -> 5L))
      assert(files.list("pending/a").map(_.path) == Seq("pending/a/1.rec"))
      assert(files.list("pending").forall(f => math.abs(f.modifiedAtMillis - System.currentTimeMillis()) < 600000))
    }

    test(s"$name: the names of files by folder, without temporary ones and files beside the folders") {
      val root = folder()
      val files = make(root)
      Seq("pending/a/1.rec", "pending/a/2.rec", "pending/b/3.rec", "pending/c", "other/a/4.rec")
        .foreach(files.create(_, Array.emptyByteArray))
      Files.writeString(root.resolve("pending/a/.5.rec.0123.tmp"), "torn")
      Files.createDirectory(root.resolve("pending/empty"))
      val found = files.namesByFolder("pending").map { case (name, names) => name -> names.toSet }
      assert(found == Map("a" -> Set("1.rec", "2.rec"), "b" -> Set("3.rec")))
      assert(files.namesByFolder("no").isEmpty)
    }

    test(s"$name: many files are deleted at once, and those that remain are named") {
      val root = folder()
      val files = make(root)
      val paths = for (lane <- Seq("a", "b"); i <- 0 until 20) yield s"pending/$lane/$i.rec"
      paths.foreach(files.create(_, Array.emptyByteArray))
      Files.createDirectories(root.resolve("pending/a/folder.rec/full"))
      val failed = files.deleteAll(paths :+ "pending/a/missing.rec" :+ "pending/a/folder.rec")
      assert(files.list("pending").isEmpty && failed.keySet == Set("pending/a/folder.rec"), failed)
      assert(files.deleteAll(Nil).isEmpty && files.deleteAll(Seq("no/such.rec")).isEmpty)
    }

    test(s"$name: work on many items keeps their order, and its failure is thrown") {
      val files = make(folder())
      assert(files.inParallel(0 until 200)(i => i * 2) == (0 until 200).map(_ * 2))
      intercept[IllegalStateException](
        files.inParallel(0 until 9)(i => if (i == 5) throw new IllegalStateException("5") else i))
    }

    test(s"$name: a long file is cut after one byte more than the limit") {
      val files = make(folder())
      files.create("a", "0123456789".getBytes)
      assert(files.read("a", 4).get.length == 5)
      assert(files.read("a", 10).get.length == 10)
    }
  }

  test("of many threads that create the same file, one succeeds, and no temporary file stays") {
    val root = folder()
    val files = IngestFiles.of(null, root.toString)
    val pool = Executors.newFixedThreadPool(8)
    try
      (0 until 20).foreach { round =>
        val tasks = (0 until 8).map(i => (() => files.create(s"x/$round", s"$i".getBytes)): Callable[Boolean])
        assert(pool.invokeAll(tasks.asJava).asScala.count(_.get) == 1)
      }
    finally pool.shutdown()
    assert(pool.awaitTermination(10, TimeUnit.SECONDS))
    assert(Files.list(root.resolve("x")).count() == 20)
  }

  test("files are created while another thread deletes and removes empty folders") {
    val files = IngestFiles.of(null, folder().toString)
    val pool = Executors.newFixedThreadPool(2)
    try {
      val creating = pool.submit((() =>
        (0 until 300).map(i => files.create(s"lane/$i", Array[Byte](1))).forall(identity)): Callable[Boolean])
      val deleting = pool.submit((() => {
        var deleted = 0
        while (deleted < 300) {
          val found = files.list("lane")
          found.foreach(f => files.delete(f.path))
          deleted += found.size
        }
        deleted
      }): Callable[Int])
      assert(creating.get(60, TimeUnit.SECONDS) && deleting.get(60, TimeUnit.SECONDS) == 300)
    } finally pool.shutdown()
  }

  test("a FileIO that cannot list is refused") {
    val error = intercept[IllegalArgumentException](
      IngestFiles.of(new zonemap.iceberg.testing.MemoryFileIO, "mem://lake/_zonemap_ingest/t"))
    assert(error.getMessage.startsWith("Cannot keep an ingest queue in 'mem://lake/_zonemap_ingest/t'"))
  }

  test("files through a FileIO are read several at a time") {
    val files = implementations.last._2(folder())
    val both = new java.util.concurrent.CountDownLatch(2)
    val met = files.inParallel(0 until 2) { _ =>
      both.countDown()
      both.await(20, TimeUnit.SECONDS)
    }
    assert(met == Seq(true, true))
  }

  test("a listing leaves out pipes, whose reader waits for a writer, and folders") {
    val path = folder()
    val files = IngestFiles.of(null, path.toString)
    assert(files.create("pending/a/1.rec", "one".getBytes))
    Files.createDirectory(path.resolve("pending/a/2.rec"))
    assert(new ProcessBuilder("mkfifo", path.resolve("pending/a/3.rec").toString).start().waitFor() == 0)
    Files.createSymbolicLink(path.resolve("pending/a/4.rec"), path.resolve("pending/a/1.rec"))
    assert(files.list("pending").map(_.path).sorted == Seq("pending/a/1.rec", "pending/a/4.rec"))
  }
}
