// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.kafka

/** Kafka's client library, which the user brings. This object names no class of it. */
private[zonemap] object KafkaLibrary {

  /** The library and the version that the tests use. */
  val Artifact = "org.apache.kafka:kafka-clients:3.9.1"

  private val Admin = "org.apache.kafka.clients.admin.Admin"

  /** @throws IllegalStateException if the library is missing */
  def check(table: String, loader: ClassLoader = getClass.getClassLoader): Unit =
    try Class.forName(Admin, false, loader): Unit
    catch {
      case e: ClassNotFoundException =>
        throw new IllegalStateException(
          s"Cannot open the Kafka queue of '$table': the class path has no Kafka client. Add $Artifact, for example to " +
            "spark.jars.packages, in each application that writes or commits.",
          e
        )
    }
}
