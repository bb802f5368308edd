// SPDX-License-Identifier: Apache-2.0
package zonemap.server.upstream

import java.nio.charset.StandardCharsets.UTF_8

import scala.jdk.CollectionConverters._

import org.apache.iceberg.util.JsonUtil
import org.scalatest.funsuite.AnyFunSuite

class TableJsonTest extends AnyFunSuite {
  private def planned(text: String) = new String(TableJson.withServerPlanning(text.getBytes(UTF_8)), UTF_8)

  test("the planning mode is added to the config, and no other byte changes") {
    val cases = Seq(
      """{"metadata":{"x":1.50}}""" -> """{"config":{"scan-planning-mode":"server"},"metadata":{"x":1.50}}""",
      """ { "a":[{"config":{}}], "config": { "k":"é" } }""" ->
        """ { "a":[{"config":{}}], "config": {"scan-planning-mode":"server", "k":"é" } }""",
      """{"a":"日本語","config":{},"b":1}""" -> """{"a":"日本語","config":{"scan-planning-mode":"server"},"b":1}""",
      """{"config":{"scan-planning-mode":"client"}}""" -> """{"config":{"scan-planning-mode":"client"}}""",
      """{"config":null}""" -> """{"config":null}""",
      """[1]""" -> """[1]"""
    )
    for ((before, after) <- cases) assert(planned(before) == after)
  }

  test("the config lists the endpoints of plans, and those that clients take for granted") {
    def edited(text: String) = JsonUtil.mapper().readTree(TableJson.ofConfig(text.getBytes(UTF_8)))
    def endpoints(text: String) = edited(text).get("endpoints").asScala.map(_.asText()).toSeq
    val own = TableJson.PlanEndpoints.map(_.toString)
    assert(endpoints("{}") == TableJson.DefaultEndpoints.map(_.toString) ++ own)
    assert(endpoints("""{"endpoints":["GET /v1/x"]}""") == "GET /v1/x" +: own)
    assert(endpoints(s"""{"endpoints":["${own.head}"]}""") == own)
    val other = edited("""{"defaults":{"uri":"http://x","a":"b"},"overrides":{"uri":"http://x"},"new":1}""")
    assert(other.get("defaults").toString == """{"a":"b"}""")
    assert(other.get("overrides").isEmpty && other.get("new").asInt() == 1)
  }
}
