// SPDX-License-Identifier: Apache-2.0
package zonemap.server

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.{AtomicLong, LongAdder}

import scala.jdk.CollectionConverters._

import zonemap.iceberg.report.{PlanListener, PlanMode, PlanReport}

/**
 * Counts since the server was started, in the text format of Prometheus.
 * They name no table and no caller. Thread-safe.
 *
 * @param heldBytes the size of all indexes in memory
 */
private[server] final class ServerMetrics(heldBytes: () => Long) extends PlanListener {
  private val plans = new ConcurrentHashMap[(String, String), LongAdder]
  private val requests = new ConcurrentHashMap[(String, Int), LongAdder]
  private val considered, kept, planMicros = new LongAdder

  /** Requests that are being answered. */
  val active = new AtomicLong

  override def planned(report: PlanReport): Unit = {
    val reason = report.mode match {
      case PlanMode.Stock(why) => why.code
      case _                   => ""
    }
    count(plans, (report.mode.name, reason))
    considered.add(report.considered)
    kept.add(report.kept)
    planMicros.add((report.millis * 1000).toLong)
  }

  /** @param kind `plan`, `tasks`, `table`, `forward` or `own` */
  def answered(kind: String, status: Int): Unit = count(requests, (kind, status))

  def text: String = {
    val lines = Seq.newBuilder[String]
    def metric(name: String, kind: String, help: String)(values: (String, String)*): Unit = {
      lines += s"# HELP zonemap_$name $help"
      lines += s"# TYPE zonemap_$name $kind"
      values.foreach { case (labels, value) => lines += s"zonemap_$name$labels $value" }
    }
    metric("plans_total", "counter", "Plans, by mode and by the reason why Iceberg planned.")(entries(plans).map {
      case ((mode, reason), n) => s"""{mode="$mode",reason="$reason"}""" -> n.toString
    }: _*)
    metric("files_considered_total", "counter", "Live data files of the snapshots planned from the index.")(
      "" -> considered.sum().toString)
    metric("files_kept_total", "counter", "Data files in plans from the index.")("" -> kept.sum().toString)
    metric("plan_seconds_total", "counter", "Time of all plans.")("" -> (planMicros.sum() / 1e6).toString)
    metric("requests_total", "counter", "Requests, by what answered them and by status.")(entries(requests).map {
      case ((kind, status), n) => s"""{kind="$kind",status="$status"}""" -> n.toString
    }: _*)
    metric("requests_active", "gauge", "Requests that are being answered.")("" -> active.get().toString)
    metric("index_held_bytes", "gauge", "Size of the indexes in memory.")("" -> heldBytes().toString)
    lines.result().mkString("", "\n", "\n")
  }

  private def count[K](counts: ConcurrentHashMap[K, LongAdder], key: K): Unit =
    counts.computeIfAbsent(key, _ => new LongAdder).increment()

  private def entries[K](counts: ConcurrentHashMap[K, LongAdder])(implicit order: Ordering[K]): Seq[(K, Long)] =
    counts.asScala.toSeq.map { case (key, n) => key -> n.sum() }.sortBy(_._1)
}
