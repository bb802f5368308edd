// SPDX-License-Identifier: Apache-2.0
package zonemap.server

import java.net.{InetAddress, ServerSocket, Socket, URI}
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.nio.file.Files
import java.security.KeyStore
import java.util.concurrent.{TimeoutException, TimeUnit}
import javax.net.ssl.{SSLContext, TrustManagerFactory}

import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import org.apache.iceberg.util.JsonUtil
import org.scalatest.funsuite.AnyFunSuite

import zonemap.server.http.Limits

class PlanServerTest extends AnyFunSuite {
  private val http = HttpClient.newHttpClient()
  private val table = "/v1/namespaces/db/tables/t"

  private def settings(json: String) = ServeSettings.parse(json)

  /** A server before a catalog, and what sends it a request: method, path, Authorization and body. */
  private def serving[A](test: (FakeCatalog, (String, String, String, String) => HttpResponse[String]) => A): A =
    Using.resource(new FakeCatalog) { catalog =>
      val found = settings(s"""{"catalog":{"type":"rest","uri":"${catalog.uri}"},"port":0}""")
      Using.resource(ServeProcess.start(found, Limits())) { server =>
        def send(method: String, path: String, authorization: String, body: String): HttpResponse[String] = {
          val request = HttpRequest
            .newBuilder(URI.create(s"http://127.0.0.1:${server.port}$path"))
            .method(method, HttpRequest.BodyPublishers.ofString(body))
            .header("Authorization", authorization)
            .header("X-Asked", "kept")
          http.send(request.build(), HttpResponse.BodyHandlers.ofString())
        }
        test(catalog, send)
      }
    }

  test("the catalog is asked as the caller before each plan, and not only before the first") {
    serving { (catalog, send) =>
      val plan = send("POST", s"$table/plan", "Bearer anna", "{}")
      assert(plan.statusCode == 200)
      val id = JsonUtil.mapper().readTree(plan.body).get("plan-id").asText()
      assert(send("GET", s"$table/plan/$id", "Bearer anna", "").statusCode == 200)
      assert(catalog.loads.size == 2 && catalog.loads.forall(_.headers("authorization") == "Bearer anna"))
      val loads = Seq(("POST", "/plan", "{}"), ("GET", s"/plan/$id", ""), ("POST", "/tasks", """{"plan-task":"x"}"""))
      for ((method, below, body) <- loads) {
        assert(send(method, table + below, "Bearer bert", body).statusCode == 403, below)
        assert(catalog.loads.last.headers("authorization") == "Bearer bert")
      }
      catalog.admitted = Set.empty
      for ((method, below, body) <- loads)
        assert(send(method, table + below, "Bearer anna", body).statusCode == 403, below)
      assert(send("DELETE", s"$table/plan/$id", "Bearer anna", "").statusCode == 403)
    }
  }

  test("other requests and their answers are passed on as they are") {
    serving { (catalog, send) =>
      val answer = send("POST", "/v1/namespaces/a%1Fb/tables/x%2Fy?q=%20z", "Bearer carl", "{\"é\" : 1.50}")
      assert(answer.statusCode == 409 && answer.body == "not understood: é {\"é\" : 1.50}")
      assert(answer.headers.firstValue("x-own").get == "kept")
      val seen = catalog.requests.asScala.toSeq.last
      assert(seen.method == "POST" && seen.path == "/v1/namespaces/a%1Fb/tables/x%2Fy?q=%20z")
      assert(seen.headers("authorization") == "Bearer carl" && seen.headers("x-asked") == "kept")
    }
  }

  test("an answer of the catalog that does not end holds its thread no longer than a request may take") {
    Using.resource(new ServerSocket(0)) { catalog =>
      val accepting = new Thread(() =>
        while (!catalog.isClosed) {
          val socket = catalog.accept()
          socket.getInputStream.read(new Array[Byte](4096)): Unit
          socket.getOutputStream.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{".getBytes)
        })
      accepting.setDaemon(true)
      accepting.start()
      val found =
        settings(s"""{"catalog":{"type":"rest","uri":"http://127.0.0.1:${catalog.getLocalPort}"},"port":0}""")
      Using.resource(ServeProcess.start(found, Limits(requestMillis = 300))) { server =>
        for (path <- Seq("/v1/namespaces", "/v1/config")) {
          val request = HttpRequest.newBuilder(URI.create(s"http://127.0.0.1:${server.port}$path"))
          val answer = http.sendAsync(request.build(), HttpResponse.BodyHandlers.ofString())
          val outcome = Try(answer.get(10, TimeUnit.SECONDS))
          assert(outcome.fold(!_.isInstanceOf[TimeoutException], _.statusCode >= 500), path)
        }
      }
    }
  }

  test("a table without an index is loaded as the catalog returns it, and the config lists the plans") {
    serving { (_, send) =>
      val loaded = send("GET", table, "Bearer anna", "")
      assert(loaded.statusCode == 200 && loaded.body.endsWith(""""config":{}}"""))
      assert(send("GET", "/v1/config", "Bearer anna", "").body.contains("/tables/{table}/plan"))
    }
  }

  test("a table that the catalog itself plans is planned by it") {
    serving { (catalog, send) =>
      catalog.endpoints = upstream.TableJson.PlanEndpoints.map(_.toString) :+ catalog.endpoints.head
      catalog.config = """{"scan-planning-mode":"server"}"""
      assert(send("POST", s"$table/plan", "Bearer anna", "{}").statusCode == 409)
      assert(catalog.requests.asScala.toSeq.last.path == s"$table/plan")
    }
  }

  test("with a key store the server speaks HTTPS only") {
    val folder = Files.createTempDirectory("tls")
    val file = folder.resolve("server.p12")
    val keytool = Seq(s"${sys.props("java.home")}/bin/keytool", "-genkeypair", "-alias", "server", "-keyalg", "EC") ++
      Seq("-dname", "CN=localhost", "-ext", "san=ip:127.0.0.1", "-storetype", "PKCS12") ++
      Seq("-keystore", file.toString, "-storepass", "opens-the-store")
    assert(new ProcessBuilder(keytool.asJava).inheritIO().start().waitFor() == 0)
    def found(password: String) = settings(
      s"""{"catalog":{"type":"hadoop","warehouse":"$folder"},"port":0,"tls-keystore":"$file",""" +
        s""""keystore-password":"$password"}""")
    val refused = intercept[IllegalArgumentException](found("another")).getMessage
    assert(refused.contains("ZONEMAP_SERVE_KEYSTORE_PASSWORD") && !refused.contains("another"))
    assert(intercept[IllegalArgumentException](found("")).getMessage.contains("its password is missing"))
    val pem = Files.writeString(folder.resolve("server.pem"), "-----BEGIN CERTIFICATE-----\n").toString
    val notStore = intercept[IllegalArgumentException](
      settings(s"""{"catalog":{"type":"hadoop"},"tls-keystore":"$pem","keystore-password":"secret-1"}""")).getMessage
    assert(notStore.contains("neither a PKCS #12 nor a JKS file") && !notStore.contains("secret-1"))
    val trusted = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm)
    trusted.init(KeyStore.getInstance(file.toFile, "opens-the-store".toCharArray))
    val context = SSLContext.getInstance("TLS")
    context.init(null, trusted.getTrustManagers, null)
    val secured = HttpClient.newBuilder().sslContext(context).build()
    val of = found("opens-the-store")
    Using.resource(ServeProcess.start(of, Limits())) { server =>
      def asked(client: HttpClient, url: String) = Try(
        client.send(HttpRequest.newBuilder(URI.create(s"$url/health")).build(), HttpResponse.BodyHandlers.ofString()))
      // a handshake that never ends keeps no other caller waiting
      Using.resource(new Socket("127.0.0.1", server.port)) { silent =>
        silent.getOutputStream.write(22)
        assert(asked(secured, of.url(server.port)).get.body == "ok\n")
      }
      assert(of.url(server.port).startsWith("https://127.0.0.1:"))
      assert(asked(secured, s"http://127.0.0.1:${server.port}").isFailure)
      assert(asked(http, of.url(server.port)).isFailure, "the certificate is not one that Java knows")
    }
  }

  test("settings that would let everybody in are refused") {
    def refused(json: String) = intercept[IllegalArgumentException](ServeProcess.start(settings(json), Limits()))
    for (key <- Seq("token", "credential", "header.Authorization", "header.authorization", "rest.auth.type"))
      assert(refused(s"""{"catalog":{"type":"rest","uri":"http://x","$key":"y"}}""").getMessage.contains(s"'$key'"))
    assert(refused("""{"catalog":{"type":"hadoop"},"host":"0.0.0.0"}""").getMessage.contains("ZONEMAP_SERVE_TOKEN"))
    assert(refused("""{"catalog":{"type":"rest","uri":"http://x"},"token":"y"}""").getMessage.contains("Unset"))
    for (rest <- Seq(""""type":"REST"""", """"catalog-impl":"org.apache.iceberg.rest.RESTCatalog""""))
      assert(settings(s"""{"catalog":{$rest}}""").isRest)
    assert(settings("""{"catalog":{"type":"jdbc"}}""").address.getAddress == InetAddress.getByName("127.0.0.1"))
    assert(settings("""{"catalog":{"type":"hadoop"},"host":"0.0.0.0","token":"y"}""").address.getPort == 8182)
  }
}
