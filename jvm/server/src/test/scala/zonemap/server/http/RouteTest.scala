// SPDX-License-Identifier: Apache-2.0
package zonemap.server.http

import org.scalatest.funsuite.AnyFunSuite

class RouteTest extends AnyFunSuite {
  test("paths of the protocol") {
    val cases = Seq(
      "/health" -> Route.Health,
      "/v1/config" -> Route.Other(Seq("config")),
      "/v1/namespaces/a%1Fb/tables/t" -> Route.OfTable("", "a%1Fb", "t", Nil),
      "/v1/p/q/namespaces/n/tables/t/plan/id" -> Route.OfTable("p/q", "n", "t", Seq("plan", "id")),
      "/v1/namespaces/n/tables/plan" -> Route.OfTable("", "n", "plan", Nil),
      "/v1/namespaces/n/tables" -> Route.Other(Seq("namespaces", "n", "tables"))
    )
    for ((path, route) <- cases) assert(Route.of(path) == route, path)
  }

  test("a path that leaves the protocol is refused") {
    for (path <- Seq("/", "/v2/config", "/v1/../x", "/v1/%2e%2E/x", "/v1//x", "/v1/a%00", "/v1/%zz", "/metrics/"))
      assertThrows[Refusal](Route.of(path))
  }
}
