// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.record

import java.nio.charset.StandardCharsets.UTF_8

import org.scalatest.funsuite.AnyFunSuite

class RecordCodecTest extends AnyFunSuite {
  import RecordCodecTest._

  private val encoded = RecordCodec.encode(Sample)

  test("a record is read as it was written") {
    assert(RecordCodec.decode(encoded) == Right(Sample))
  }

  test("the bytes are those of docs/design/INGEST.md") {
    val body = """{"queue-id":"q","table-uuid":"t","branch":"main","lane":"läne","seq":7,"prev-seq":5,""" +
      """"nonce":"0123456789abcdef","writer":"host/1/app","created-ms":1700000000000,"schema-id":1,""" +
      """"base-snapshot-id":-1,"format-version":2,"rows":3,"bytes":30,"files":[{"spec-id":0,"content-file":""" +
      """{"spec-id":0,"content":"DATA","file-path":"/t/data/a.parquet","file-format":"PARQUET","partition":[],""" +
      """"file-size-in-bytes":30,"record-count":3}}]}"""
    val crc = new java.util.zip.CRC32
    crc.update(body.getBytes(UTF_8))
    val expected = f"zonemap-ingest 1 ${crc.getValue}%08x ${body.getBytes(UTF_8).length}\n" + body
    assert(new String(encoded, UTF_8) == expected)
  }

  test("a record of files that were in place says so, and an earlier release ignores it") {
    val existing = Sample.copy(existing = true)
    val bytes = RecordCodec.encode(existing)
    assert(RecordCodec.decode(bytes) == Right(existing))
    assert(new String(bytes, UTF_8).endsWith("""}}],"existing":true}"""))
  }

  test("every byte that is changed or cut is noticed") {
    encoded.indices.foreach { i =>
      val changed = encoded.clone()
      changed(i) = (changed(i) ^ 1).toByte
      assert(RecordCodec.decode(changed).isLeft, s"byte $i")
      assert(RecordCodec.decode(encoded.take(i)).isLeft, s"cut to $i")
    }
    assert(RecordCodec.decode(encoded :+ 'x'.toByte).isLeft)
  }

  Seq[(String, IngestRecord => IngestRecord, String)](
    ("a negative seq", _.copy(seq = -1, prevSeq = -2), "seq"),
    ("a prev-seq that is not smaller", _.copy(prevSeq = 7), "prev-seq"),
    ("a prev-seq below -1", _.copy(prevSeq = -2), "prev-seq"),
    ("a nonce in upper case", _.copy(nonce = "0123456789ABCDEF"), "nonce"),
    ("no data file", _.copy(files = Nil), "data file")
  ).foreach { case (name, change, word) =>
    test(s"$name is refused as invalid") {
      val problem = RecordCodec.decode(RecordCodec.encode(change(Sample))).left.toOption.get
      assert(problem.code == RecordProblem.Invalid && problem.message.contains(word))
    }
  }

  Seq(
    "zonemap-ingest 2 00000000 0\n" -> RecordProblem.LaterFormat,
    "zonemap-ingest 1 00000000 1\n" -> RecordProblem.Damaged,
    "zonemap-ingest 1 00000001 0\n" -> RecordProblem.Damaged,
    "zonemap-ingest 1 00000000 0\n" -> RecordProblem.Invalid,
    "" -> RecordProblem.Damaged,
    "{}" -> RecordProblem.Damaged,
    ("x" * 100) + "\n" -> RecordProblem.Damaged
  ).foreach { case (text, code) =>
    test(s"'${text.take(30).trim}' is refused as $code") {
      assert(RecordCodec.decode(text.getBytes(UTF_8)).left.map(_.code) == Left(code))
    }
  }

  test("a field that is missing or has another type is refused as invalid") {
    val body = new String(encoded, UTF_8).split("\n", 2)(1)
    val fields = "\"([a-z-]+)\":".r.findAllMatchIn(body.takeWhile(_ != '[')).map(_.group(1)).toSeq
    assert(fields.size == 15)
    fields.foreach { field =>
      val renamed = RecordCodec.decode(Framed.encode(body.replaceFirst(s""""$field":""", s""""x-$field":""")))
      assert(renamed.left.map(_.code) == Left(RecordProblem.Invalid), field)
    }
  }

  test("a record of more than 64 MiB is refused") {
    val problem = RecordCodec.decode(new Array[Byte](RecordCodec.MaxBytes + 1))
    assert(problem.left.map(_.code) == Left(RecordProblem.TooLong))
  }
}

object RecordCodecTest {
  val Sample: IngestRecord = IngestRecord(
    "q",
    "t",
    "main",
    "läne",
    7,
    5,
    "0123456789abcdef",
    "host/1/app",
    1700000000000L,
    1,
    -1,
    2,
    3,
    30,
    Seq(
      QueuedFile(
        0,
        """{"spec-id":0,"content":"DATA","file-path":"/t/data/a.parquet","file-format":"PARQUET","partition":[],""" +
          """"file-size-in-bytes":30,"record-count":3}"""
      ))
  )
}
