// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.explain

import org.apache.spark.sql.SparkSession

import zonemap.spark.SharedSession
import zonemap.spark.runtime.ExplainProvider

/** The provider of the section of EXPLAIN is in the conf of each session, under a name that every thread finds. */
class ExplainProviderTest extends SharedSession {
  private val Key = "spark.sql.extendedExplainProviders"
  private val Theirs = "zonemap.spark.ZoneMapExplain"
  private val Ours = "org.apache.spark.sql.ZonemapExplain"
  private lazy val table = newTable("explain_provider")

  private def explained(session: SparkSession): String =
    session.sql(s"EXPLAIN SELECT * FROM $table WHERE id > 5").collect().map(_.getString(0)).mkString("\n")

  /** Runs `body` with a context class loader that finds Spark's classes and none of zonemap, like a Thrift server's. */
  private def withoutZonemap[A](body: => A): A = {
    val thread = Thread.currentThread()
    val before = thread.getContextClassLoader
    thread.setContextClassLoader(new ClassLoader(before) {
      override def loadClass(name: String, resolve: Boolean): Class[_] =
        if (name.startsWith("zonemap.")) throw new ClassNotFoundException(name) else super.loadClass(name, resolve)
    })
    try body
    finally thread.setContextClassLoader(before)
  }

  private def fresh(provider: Option[String]): SparkSession = {
    val session = spark.newSession()
    session.conf.set(Key, provider.getOrElse("x"))
    if (provider.isEmpty) session.conf.unset(Key)
    session
  }

  test("a session that names the provider explains and runs queries on a thread that does not find it") {
    build(table)
    val session = fresh(Some(Theirs))
    withoutZonemap {
      session.sql("USE default").collect()
      assert(explained(session).contains("(Zonemap)"))
      assert(session.sql(s"SELECT count(*) FROM $table WHERE id > 5").head().getLong(0) == 44)
    }
    assert(session.conf.get(Key) == Ours)
    assert("\\(Zonemap\\)".r.findAllIn(explained(session)).size == 1)
  }

  test("an empty list of providers stays empty and turns the section off") {
    val session = fresh(Some(""))
    assert(!explained(session).contains("(Zonemap)") && session.conf.get(Key).isEmpty)
  }

  test("the list of providers: ours is added once, in the place of the class that users name") {
    def list(named: String*) = ExplainProvider.withOurs(Some(named), Ours)
    assert(ExplainProvider.withOurs(None, Ours) == Seq(Ours))
    assert(list() == Nil)
    assert(list("other.Explain") == Seq("other.Explain", Ours))
    assert(list(Theirs, "other.Explain") == Seq(Ours, "other.Explain"))
    assert(list("other.Explain", Ours) == Seq("other.Explain", Ours))
    assert(list(Theirs, Ours) == Seq(Ours))
  }
}
