// SPDX-License-Identifier: Apache-2.0
package zonemap.server

import java.net.InetSocketAddress
import java.util.Locale
import java.util.concurrent.{ArrayBlockingQueue, ThreadPoolExecutor, TimeUnit}
import javax.net.ssl.SSLContext

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.sun.net.httpserver.{HttpExchange, HttpServer, HttpsConfigurator, HttpsServer}
import org.apache.iceberg.BaseTable
import org.apache.iceberg.rest.RESTUtil

import zonemap.iceberg.report.Survivable
import zonemap.server.http.{Call, Limits, Refusal, Reply, Route}
import zonemap.server.plan.{PlannedTable, ScanPlans}
import zonemap.server.upstream.{TableJson, Upstream}

/**
 * Iceberg's REST catalog protocol with plans from the index: it answers the requests about plans itself, adds its
 * planning mode to the tables that the index covers, and passes all other requests on.
 *
 * It holds no state between two requests but the index. Thread-safe.
 *
 * @param address port 0 takes a free one
 * @param tls makes this a server of HTTPS
 */
private[server] final class PlanServer(
    address: InetSocketAddress,
    tls: Option[SSLContext],
    upstream: Upstream,
    plans: ScanPlans,
    metrics: ServerMetrics,
    limits: Limits)
    extends AutoCloseable {
  import PlanServer._

  private val threads =
    new ThreadPoolExecutor(Threads, Threads, 60, TimeUnit.SECONDS, new ArrayBlockingQueue[Runnable](MaxWaiting))
  threads.allowCoreThreadTimeOut(true)
  private val server = tls.fold(HttpServer.create(address, MaxWaiting)) { context =>
    val https = HttpsServer.create(address, MaxWaiting)
    https.setHttpsConfigurator(new HttpsConfigurator(context))
    https
  }
  server.setExecutor(threads)
  server.createContext("/", exchange => handle(exchange)): Unit
  server.start()

  /** The port at which the server listens. */
  def port: Int = server.getAddress.getPort

  @volatile private var isStopping = false

  /** Refuses new requests, and ends after those under way, within 30 seconds. */
  override def close(): Unit = {
    isStopping = true
    val end = System.nanoTime() + TimeUnit.SECONDS.toNanos(StopSeconds)
    while (metrics.active.get() > 0 && System.nanoTime() < end) Thread.sleep(20)
    server.stop(0)
    threads.shutdown()
    upstream.close()
    plans.close()
  }

  private def handle(exchange: HttpExchange): Unit =
    if (isStopping)
      try send(exchange, Refusal.reply(Refusal.stopping))
      finally exchange.close()
    else handleNow(exchange)

  private def handleNow(exchange: HttpExchange): Unit = {
    metrics.active.incrementAndGet()
    try {
      var kind = "own"
      val reply =
        try {
          val route = Route.of(exchange.getRequestURI.getRawPath)
          kind = kindOf(route)
          answer(exchange, route)
        } catch {
          case Survivable(e) => Refusal.reply(e)
          case NonFatal(e)   => Refusal.reply(e)
        }
      metrics.answered(kind, reply.status)
      send(exchange, reply)
    } finally {
      exchange.close()
      metrics.active.decrementAndGet(): Unit
    }
  }

  private def answer(exchange: HttpExchange, route: Route): Reply = route match {
    case Route.Health  => Reply.text(200, "ok\n")
    case Route.Metrics => Reply.text(200, metrics.text)
    case table @ Route.OfTable(_, _, _, Seq("plan" | "tasks", _*)) =>
      val call = read(exchange, limits.planBodyBytes)
      val found = upstream.load(call.caller, table)
      found.fold(upstream.answer(call, route))(loaded => planned(call, table, baseOf(table, loaded)))
    case table: Route.OfTable if exchange.getRequestMethod == "GET" && table.below.isEmpty =>
      load(read(exchange, limits.planBodyBytes), table)
    case _ => upstream.answer(read(exchange, limits.forwardedBodyBytes), route)
  }

  private def planned(call: Call, route: Route.OfTable, base: BaseTable): Reply = {
    val table = new PlannedTable(base, s"${route.prefix}/${route.namespace}/${route.table}", call.caller)
    (call.method, route.below) match {
      case ("POST", Seq("plan"))       => Reply.json(200, plans.plan(table, call.body))
      case ("GET", Seq("plan", id))    => Reply.json(200, plans.result(table, id))
      case ("POST", Seq("tasks"))      => Reply.json(200, plans.tasks(table, call.body))
      case ("DELETE", Seq("plan", id)) => plans.cancel(table, id); Reply.empty(204)
      case _                           => upstream.answer(call, route)
    }
  }

  /** The catalog's own answer, which says that the server plans if the index covers the table. */
  private def load(call: Call, route: Route.OfTable): Reply =
    upstream.answer(call.withHeader("accept-encoding", "identity"), route).edited(limits) { answer =>
      // without a planning mode the client plans: the answer is right, whatever fails here
      val isCovered =
        try upstream.load(call.caller, route).exists(loaded => plans.covers(baseOf(route, loaded)))
        catch { case NonFatal(_) => false }
      if (isCovered) TableJson.withServerPlanning(answer) else answer
    }

  private def baseOf(route: Route.OfTable, table: org.apache.iceberg.Table): BaseTable = table match {
    case base: BaseTable => base
    case _               => throw Refusal.noSuchTable(RESTUtil.decodeString(route.table))
  }

  private def read(exchange: HttpExchange, maxBytes: Int): Call = {
    val body = exchange.getRequestBody.readNBytes(maxBytes + 1)
    if (body.length > maxBytes) throw Refusal.tooLarge("its body, in bytes,", maxBytes.toLong)
    val headers = for {
      (name, values) <- exchange.getRequestHeaders.asScala.toSeq
      value <- values.asScala
    } yield name.toLowerCase(Locale.ROOT) -> value
    val uri = exchange.getRequestURI
    Call(exchange.getRequestMethod, uri.getRawPath, Option(uri.getRawQuery), headers, body)
  }

  private def send(exchange: HttpExchange, reply: Reply): Unit =
    try {
      reply.headers.foreach { case (name, value) => exchange.getResponseHeaders.add(name, value) }
      val hasBody =
        reply.length != 0 && exchange.getRequestMethod != "HEAD" && reply.status != 204 && reply.status != 304
      if (!hasBody) exchange.sendResponseHeaders(reply.status, -1)
      else {
        // for this server, 0 stands for a length that is not known
        exchange.sendResponseHeaders(reply.status, math.max(reply.length, 0L))
        reply.body.transferTo(exchange.getResponseBody): Unit
      }
    } finally reply.body.close()
}

private object PlanServer {
  private val Threads = 32
  private val MaxWaiting = 256
  private val StopSeconds = 30L

  private def kindOf(route: Route): String = route match {
    case Route.OfTable(_, _, _, Seq("plan", _*)) => "plan"
    case Route.OfTable(_, _, _, Seq("tasks"))    => "tasks"
    case Route.OfTable(_, _, _, Seq())           => "table"
    case Route.Health | Route.Metrics            => "own"
    case _                                       => "forward"
  }
}
