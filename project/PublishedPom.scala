// SPDX-License-Identifier: Apache-2.0
import scala.xml.{Elem, Node}

/** The POM of a published jar, which has the classes of all modules that it needs within it. */
object PublishedPom {

  /**
   * Changes the POM that sbt makes: its only dependencies are other published jars. The modules of this build are in
   * the jar, and the user's set-up brings Spark, Iceberg and the Kafka client.
   *
   * @param jars the artifacts of other published jars that the user needs beside this one
   */
  def of(organization: String, jars: Seq[String], version: String)(pom: Node): Node =
    pom match {
      case all: Elem if all.label == "dependencies" =>
        all.copy(child = jars.map { artifact =>
          <dependency>
            <groupId>{organization}</groupId>
            <artifactId>{artifact}</artifactId>
            <version>{version}</version>
          </dependency>
        })
      case other: Elem => other.copy(child = other.child.map(of(organization, jars, version)))
      case other       => other
    }
}
