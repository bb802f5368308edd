// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.kafka

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.control.NonFatal

import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.kafka.clients.producer.ProducerRecord

import zonemap.ingest.queue.RecordName
import zonemap.ingest.record.{IngestRecord, LaneName, Nonce, RecordCodec}

/**
 * The form of a record as a message: the key is its lane, so that a lane stays in one partition; its `seq` and nonce
 * are headers; the value is the bytes of the record, or a [[SpilledRecord]].
 */
private[kafka] object KafkaMessage {
  private val Seq = "zonemap-seq"
  private val NonceHeader = "zonemap-nonce"

  def of(topic: String, record: IngestRecord, value: Array[Byte]): ProducerRecord[Array[Byte], Array[Byte]] = {
    val message = new ProducerRecord(topic, record.lane.getBytes(UTF_8), value)
    message.headers().add(Seq, record.seq.toString.getBytes(UTF_8))
    message.headers().add(NonceHeader, record.nonce.getBytes(UTF_8))
    message
  }

  /** The name of the record in a message; `None` if no producer of this queue sent the message. */
  def name(message: ConsumerRecord[Array[Byte], Array[Byte]]): Option[RecordName] = {
    def header(key: String) =
      Option(message.headers().lastHeader(key)).flatMap(h => Option(h.value())).map(new String(_, UTF_8))
    for {
      lane <- Option(message.key()).map(new String(_, UTF_8)).filter(isLane)
      seq <- header(Seq).flatMap(_.toLongOption).filter(_ > IngestRecord.NoSeq)
      nonce <- header(NonceHeader).filter(_.matches(Nonce.Pattern))
    } yield RecordName(lane, seq, nonce, message.timestamp())
  }

  /** Whether a value is a record, or the pointer to one. */
  def isRecord(value: Array[Byte]): Boolean =
    SpilledRecord.parse(value).isDefined || RecordCodec.decode(value).isRight

  private def isLane(lane: String): Boolean =
    try LaneName.encode(lane).nonEmpty
    catch { case NonFatal(_) => false }
}
