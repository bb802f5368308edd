// SPDX-License-Identifier: Apache-2.0
package zonemap.server.upstream

import java.nio.file.Files

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.iceberg.Schema
import org.apache.iceberg.catalog.TableIdentifier
import org.apache.iceberg.hadoop.HadoopCatalog
import org.apache.iceberg.types.Types
import org.scalatest.funsuite.AnyFunSuite

import zonemap.server.http.{Caller, Route}

class CatalogUpstreamTest extends AnyFunSuite {
  private val schema = new Schema(Types.NestedField.required(1, "id", Types.LongType.get))
  private val id = TableIdentifier.of("db", "t")
  private val route = Route.OfTable("", "db", "t", Nil)

  test("a table of a catalog of folders that was made again is the new one, also at the same version") {
    val warehouse = Files.createTempDirectory("zonemap-served").toString
    val catalog = new HadoopCatalog(new Configuration, warehouse)
    val properties = Map("type" -> "hadoop", "warehouse" -> warehouse)
    Using.resource(new CatalogUpstream("lake", properties, new Configuration, None)) { upstream =>
      def loaded = upstream.load(new Caller(None), route).map(_.uuid())
      for (_ <- 0 until 2) {
        val made = catalog.createTable(id, schema)
        assert(loaded.contains(made.uuid()))
        catalog.dropTable(id, true): Unit
      }
    }
  }
}
