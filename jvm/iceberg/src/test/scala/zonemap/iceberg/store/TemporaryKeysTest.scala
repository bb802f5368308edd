// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.store

import java.util.{Map => JMap}

import scala.jdk.CollectionConverters._

import org.apache.iceberg.io.{FileIO, InputFile, OutputFile}
import org.scalatest.funsuite.AnyFunSuite

class TemporaryKeysTest extends AnyFunSuite {
  private val Now = 1800000000000L

  private def io(found: => JMap[String, String]): FileIO = new FileIO {
    override def newInputFile(path: String): InputFile = throw new UnsupportedOperationException
    override def newOutputFile(path: String): OutputFile = throw new UnsupportedOperationException
    override def deleteFile(path: String): Unit = throw new UnsupportedOperationException
    override def properties(): JMap[String, String] = found
  }

  private val Cases = Seq[(String, Map[String, String], Option[Long])](
    ("no keys", Map.empty, None),
    ("permanent keys", Map("s3.access-key-id" -> "a"), None),
    ("no time", Map("s3.session-token" -> "t"), Some(300)),
    ("an hour", Map("s3.session-token" -> "t", "s3.session-token-expires-at-ms" -> "3600"), Some(3300)),
    ("a minute", Map("s3.session-token" -> "t", "s3.session-token-expires-at-ms" -> "60"), Some(30)),
    ("a time that lies behind", Map("s3.session-token" -> "t", "s3.session-token-expires-at-ms" -> "-60"), Some(300)),
    ("no number", Map("s3.session-token" -> "t", "s3.session-token-expires-at-ms" -> "soon"), Some(300)),
    ("Azure", Map("adls.sas-token.a" -> "t", "adls.sas-token-expires-at-ms.a" -> "1000"), Some(700)),
    ("Google", Map("gcs.oauth2.token" -> "t", "gcs.oauth2.token-expires-at" -> "900"), Some(600)),
    (
      "the first of two",
      Map("s3.session-token-expires-at-ms" -> "3600", "gcs.oauth2.token-expires-at" -> "400"),
      Some(200))
  )

  Cases.foreach { case (name, properties, seconds) =>
    test(s"keys are used for as long as they may be: $name") {
      val absolute = properties.map { case (key, value) =>
        key -> value.toLongOption.fold(value)(s => (Now + s * 1000).toString)
      }
      assert(TemporaryKeys.useMillis(io(absolute.asJava), Now) == seconds.map(_ * 1000))
    }
  }

  test("a FileIO that does not tell its properties has no temporary keys") {
    val silent = io(throw new UnsupportedOperationException)
    assert(!TemporaryKeys.areUsedBy(silent) && TemporaryKeys.useMillis(silent, Now).isEmpty)
  }
}
