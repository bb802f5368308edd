// SPDX-License-Identifier: Apache-2.0
package zonemap.server.upstream

import org.apache.iceberg.Table

import zonemap.server.http.{Call, Caller, Reply, Route}

/** The catalog behind the server. Thread-safe. */
private[server] trait Upstream extends AutoCloseable {

  /**
   * Loads a table as its caller: the catalog decides with each call whether the caller may load it, and returns the
   * newest metadata.
   *
   * @return `None` if the catalog itself must plan this table, or if the path has another prefix than the catalog
   */
  def load(caller: Caller, route: Route.OfTable): Option[Table]

  /** Answers a request that is not about a plan. */
  def answer(call: Call, route: Route): Reply
}
