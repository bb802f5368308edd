// SPDX-License-Identifier: Apache-2.0
import sbt._

/** Every version and library of the JVM build, named once, with the reason it is there. */
object Dependencies {
  val scalaVersionFull = "2.13.17"
  val sparkVersion = "4.1.3"

  /** "4.1" of "4.1.3": the Spark minor the jar is built for. */
  val sparkMinor: String = sparkVersion.split('.').take(2).mkString(".")

  /** That of the first Iceberg runtime in dev/jars.txt; -Diceberg.version=X builds against another. */
  val icebergVersion: String = sys.props.getOrElse("iceberg.version", listed(sparkMinor))

  /** The version of the first runtime for this minor of Spark in dev/jars.txt. */
  private def listed(minor: String, scala: String = "2.13"): String = {
    val runtime = s"org.apache.iceberg:iceberg-spark-runtime-${minor}_$scala:"
    val found = IO.readLines(file("dev/jars.txt")).find(_.startsWith(runtime))
    found
      .getOrElse(sys.error(s"Cannot find '$runtime' in dev/jars.txt. Add the runtime to build against."))
      .stripPrefix(runtime)
  }

  /** The other Spark that the planner and ingestion are compiled for, with Iceberg's runtime for it. */
  val sparkVersion40 = "4.0.4"
  val sparkMinor40 = "4.0"
  val sparkSql40 = "org.apache.spark" %% "spark-sql" % sparkVersion40 % Provided
  val icebergSparkRuntime40 =
    "org.apache.iceberg" % s"iceberg-spark-runtime-${sparkMinor40}_2.13" % listed(sparkMinor40) % Provided

  /** Spark 3.5 with the Scala of PySpark, with Iceberg's runtime for it. */
  val scalaVersion212 = "2.12.18"
  val sparkVersion35 = "3.5.9"
  val sparkMinor35 = "3.5"
  val sparkSql35 = "org.apache.spark" % "spark-sql_2.12" % sparkVersion35 % Provided
  val icebergSparkRuntime35 =
    "org.apache.iceberg" % s"iceberg-spark-runtime-${sparkMinor35}_2.12" % listed(sparkMinor35, "2.12") % Provided

  // The engine we extend; the user's Spark brings it, and with it zstd-jni.
  val sparkSql = "org.apache.spark" %% "spark-sql" % sparkVersion % Provided
  // The table format whose planning we replace; the user's set-up brings it.
  val icebergSparkRuntime =
    "org.apache.iceberg" % s"iceberg-spark-runtime-${sparkMinor}_2.13" % icebergVersion % Provided
  // Block compression of paths and exact bounds; the version that Spark 4.1.3 ships.
  val zstdJni = "com.github.luben" % "zstd-jni" % "1.5.7-6" % Provided

  // The client of Kafka queues; the user brings it. The version of Spark 4.1's own Kafka connector. Spark ships the
  // compression libraries that it needs.
  val kafkaVersion = "3.9.1"
  val kafkaClients = ("org.apache.kafka" % "kafka-clients" % kafkaVersion % Provided).intransitive()
  // The broker of the tests: a process of its own, whose class path is none of ours.
  val kafkaBroker = "org.apache.kafka" %% "kafka" % kafkaVersion % "broker"

  val scalaTest = "org.scalatest" %% "scalatest" % "3.2.19" % Test
  val scalaCheck = "org.scalatestplus" %% "scalacheck-1-18" % "3.2.19.0" % Test
  // The database of Iceberg's JDBC catalog, for tests of commits by several committers; the version of dev/jars.txt.
  val sqliteJdbc = "org.xerial" % "sqlite-jdbc" % "3.50.3.0" % Test
  // Reads the compiled classes, for the tests of floors and of state.
  val archUnit = "com.tngtech.archunit" % "archunit" % "1.4.1" % Test
}
