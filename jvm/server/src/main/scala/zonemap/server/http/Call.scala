// SPDX-License-Identifier: Apache-2.0
package zonemap.server.http

import java.io.{ByteArrayInputStream, InputStream}
import java.net.URLDecoder
import java.nio.charset.StandardCharsets.UTF_8
import java.util.zip.GZIPInputStream

/**
 * A request.
 *
 * @param path the path as the client wrote it, with its escapes
 * @param query the query as the client wrote it
 * @param headers names in lower case, in their order
 */
private[server] final case class Call(
    method: String,
    path: String,
    query: Option[String],
    headers: Seq[(String, String)],
    body: Array[Byte]) {

  val caller: Caller = new Caller(headers.collectFirst { case ("authorization", value) => value })

  /** The value of a parameter of the query, without its escapes. */
  def parameter(name: String): Option[String] =
    query.toSeq
      .flatMap(_.split('&'))
      .map(_.split("=", 2))
      .collectFirst { case Array(key, value) if key == name => URLDecoder.decode(value, UTF_8) }

  def withHeader(name: String, value: String): Call =
    copy(headers = headers.filterNot(_._1 == name) :+ (name -> value))
}

/**
 * The answer to a request; its reader closes `body`.
 *
 * @param length the number of bytes; -1 if it is not known
 */
private[server] final case class Reply(status: Int, headers: Seq[(String, String)], body: InputStream, length: Long) {

  /** This answer with other bytes, if it is a success. */
  def edited(limits: Limits)(edit: Array[Byte] => Array[Byte]): Reply =
    if (status != 200) this
    else {
      // some catalogs compress their answers though they are asked not to
      val (coding, others) = headers.partition(_._1.equalsIgnoreCase("content-encoding"))
      val isZipped = coding.exists(_._2.equalsIgnoreCase("gzip"))
      val bytes =
        try {
          val plain = if (isZipped) new GZIPInputStream(body) else body
          plain.readNBytes(limits.tableBytes + 1)
        } finally body.close()
      if (bytes.length > limits.tableBytes)
        throw Refusal.tooLarge("the answer of the catalog", limits.tableBytes.toLong)
      Reply.of(status, if (isZipped) others else headers, edit(bytes))
    }
}

private[server] object Reply {
  def empty(status: Int): Reply = of(status, Nil, Array.emptyByteArray)

  def json(status: Int, bytes: Array[Byte]): Reply = of(status, Seq("content-type" -> "application/json"), bytes)

  def json(status: Int, text: String): Reply = json(status, text.getBytes(UTF_8))

  def text(status: Int, text: String): Reply =
    of(status, Seq("content-type" -> "text/plain; version=0.0.4; charset=utf-8"), text.getBytes(UTF_8))

  def of(status: Int, headers: Seq[(String, String)], bytes: Array[Byte]): Reply =
    Reply(status, headers, new ByteArrayInputStream(bytes), bytes.length.toLong)
}
