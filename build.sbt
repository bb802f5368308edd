// SPDX-License-Identifier: Apache-2.0
import Dependencies._

ThisBuild / organization := "io.github.zonemap"
ThisBuild / version := "0.1.0"
ThisBuild / description := "Plans Apache Iceberg scans in Spark from a zonemap index: same SQL, same rows, fewer files read."
ThisBuild / homepage := Some(url("https://zonemap.example/source"))
ThisBuild / licenses := Seq("Apache-2.0" -> url("https://www.apache.org/licenses/LICENSE-2.0.txt"))
ThisBuild / scalaVersion := scalaVersionFull
ThisBuild / javacOptions ++= Seq("--release", "17", "-Xlint:all,-serial,-processing,-classfile", "-encoding", "UTF-8")
ThisBuild / scalacOptions ++= Seq(
  "-release:17",
  "-deprecation",
  "-feature",
  "-unchecked",
  "-Xlint:_,-missing-interpolator",
  "-Wunused:imports,privates,locals",
  "-Wvalue-discard",
  "-encoding",
  "UTF-8"
)

// Spark 4 on Java 17 needs its own list of opened packages; the same one spark-submit passes.
val sparkJvmOptions: Seq[String] = Seq(
  "java.base/java.lang",
  "java.base/java.lang.invoke",
  "java.base/java.lang.reflect",
  "java.base/java.io",
  "java.base/java.net",
  "java.base/java.nio",
  "java.base/java.util",
  "java.base/java.util.concurrent",
  "java.base/java.util.concurrent.atomic",
  "java.base/jdk.internal.ref",
  "java.base/sun.nio.ch",
  "java.base/sun.nio.cs",
  "java.base/sun.security.action",
  "java.base/sun.util.calendar"
).map(p => s"--add-opens=$p=ALL-UNNAMED")

def temporaryFolder(root: File): String = {
  val folder = root / "target" / "tmp"
  IO.createDirectory(folder)
  folder.getPath
}

/** The JVM compiles each method once, quickly: most tests run for seconds. */
val oneCompiler = "-XX:TieredStopAtLevel=1"

val testSettings: Seq[Setting[_]] = Seq(
  libraryDependencies ++= Seq(scalaTest, scalaCheck),
  Test / fork := true,
  Test / parallelExecution := false,
  Test / baseDirectory := (ThisBuild / baseDirectory).value,
  Test / javaOptions ++= sparkJvmOptions ++ Seq(
    "-Xmx3g",
    // A query leaves tens of MB of garbage and keeps little. From its defaults, the JVM collects several times a second.
    "-Xms1g",
    "-Xmn500m",
    "-XX:MetaspaceSize=256m",
    oneCompiler,
    // With one compiler, the JVM reserves 48 MB for compiled code. The suites fill them, and from then on the JVM
    // interprets all new code.
    "-XX:ReservedCodeCacheSize=240m",
    "-XX:+UseSerialGC",
    "-Duser.timezone=UTC",
    // Hadoop runs processes for local files, where core-site.xml of the tests does not apply.
    "-Djdk.lang.Process.launchMechanism=VFORK",
    "-Djava.io.tmpdir=" + temporaryFolder((ThisBuild / baseDirectory).value)
  ) ++
    sys.props.get("zonemap.seed").orElse(sys.env.get("ZONEMAP_SEED")).map(seed => s"-Dzonemap.seed=$seed") ++
    sys.props.get("zonemap.checks").map(checks => s"-Dzonemap.checks=$checks"),
  Test / testOptions += Tests.Argument(TestFrameworks.ScalaTest, "-oDF", "-u", "target/test-reports")
)

/** Functions as classes of the jar: the first plan of a JVM would link each when it is met, at several times the price. */
val functionsAsClasses: Setting[_] = Compile / scalacOptions += "-Ydelambdafy:inline"

lazy val core = (project in file("jvm/core"))
  .settings(testSettings, functionsAsClasses)
  .settings(name := "zonemap-core", libraryDependencies += zstdJni)

lazy val iceberg = (project in file("jvm/iceberg"))
  .dependsOn(core % "compile->compile;test->test;provided->provided")
  .settings(testSettings, functionsAsClasses)
  .settings(
    name := "zonemap-iceberg",
    // The file system of the tests, which tests/ use too; resources/core-site.xml names it.
    Test / unmanagedSourceDirectories += (ThisBuild / baseDirectory).value / "tests" / "support" / "java",
    Test / unmanagedResourceDirectories += (ThisBuild / baseDirectory).value / "tests" / "support" / "hadoop",
    // Spark is here for what the shaded runtime leaves out (hadoop, slf4j); no source of this module names a Spark type.
    libraryDependencies ++= Seq(icebergSparkRuntime, sparkSql)
  )

/**
 * The planner's sources, and those that are written in another way for each minor version of Spark, or for Spark 4 and 3.
 * Those of the folder `spark-unpinned` are for runtimes of Iceberg that pin no table before its scan is built.
 */
def sourcesFor(minor: String): Seq[Setting[_]] = Seq(
  name := "zonemap-spark",
  Compile / unmanagedSourceDirectories ++=
    (Seq(minor.split('.').head, minor) ++ Some("unpinned").filter(_ => minor != sparkMinor))
      .map(of => sourceDirectory.value / "main" / s"spark-$of"),
  buildInfoPackage := "zonemap.spark",
  buildInfoObject := "Build",
  buildInfoKeys := Seq[BuildInfoKey](version, "sparkMinor" -> minor)
)

lazy val spark = (project in file("jvm/spark"))
  .enablePlugins(BuildInfoPlugin)
  .dependsOn(iceberg % "compile->compile;test->test;provided->provided")
  .settings(testSettings, sourcesFor(sparkMinor))
  .settings(libraryDependencies ++= Seq(icebergSparkRuntime, sparkSql))

/**
 * A thin jar of the classes in some packages: nothing that Spark ships is bundled, and nothing of the other jar.
 *
 * `publish` puts it into a Maven repository in build/maven, with the sources of the modules in it.
 */
def jarOf(artifact: String, minor: String, packages: String*)(modules: ProjectReference*): Seq[Setting[_]] = Seq(
  moduleName := s"zonemap-$artifact-$minor",
  projectInfo ~= (_.withNameFormal(s"zonemap-$artifact")),
  publishTo := Some(MavenCache("build", (ThisBuild / baseDirectory).value / "build" / "maven")),
  publishConfiguration := publishConfiguration.value.withOverwrite(true),
  Compile / packageBin := assembly.value,
  Compile / packageDoc / publishArtifact := false,
  Compile / packageSrc / mappings ++=
    (Compile / packageSrc / mappings).all(ScopeFilter(inProjects(modules: _*))).value.flatten,
  pomPostProcess := PublishedPom.of(
    organization.value,
    Seq("spark").filter(_ != artifact).map(other => s"zonemap-$other-${minor}_${scalaBinaryVersion.value}"),
    version.value),
  Compile / resourceGenerators += Def.task {
    val license = (Compile / resourceManaged).value / "META-INF" / "LICENSE"
    IO.copyFile((ThisBuild / baseDirectory).value / "LICENSE", license)
    Seq(license)
  }.taskValue,
  assembly / assemblyOption ~= (_.withIncludeScala(false)),
  assembly / assemblyJarName := s"zonemap-$artifact-${minor}_${scalaBinaryVersion.value}-${version.value}.jar",
  assembly / assemblyRepeatableBuild := true,
  // The default strategy renames licenses.
  assembly / assemblyMergeStrategy := {
    val others = (assembly / assemblyMergeStrategy).value;
    {
      case "META-INF/LICENSE" => sbtassembly.MergeStrategy.singleOrError
      case path if path.startsWith("zonemap/") && !packages.exists(name => path.startsWith(s"zonemap/$name/")) =>
        sbtassembly.MergeStrategy.discard
      case path => others(path)
    }
  },
  assembly / test := {}
)

/** The planner behind Iceberg's REST protocol. As in jvm/iceberg, Spark completes the shaded runtime. */
lazy val server = (project in file("jvm/server"))
  .dependsOn(iceberg % "compile->compile;test->test;provided->provided")
  .settings(testSettings)
  .settings(name := "zonemap-server", libraryDependencies ++= Seq(icebergSparkRuntime, sparkSql, sqliteJdbc))

val ofPlanner = Seq("core", "iceberg", "spark", "insight", "server")

// The jar of the planner also has the server, which diagnosis cannot name: it is on the class path of the jar alone.
lazy val insight = (project in file("jvm/insight"))
  .dependsOn(spark % "compile->compile;test->test;provided->provided", server % "runtime->compile")
  .settings(testSettings)
  .settings(jarOf("spark", sparkMinor, ofPlanner: _*)(core, iceberg, spark, server))
  .settings(name := "zonemap-insight")

lazy val ingest = (project in file("jvm/ingest"))
  .dependsOn(iceberg % "compile->compile;test->test;provided->provided")
  .settings(testSettings)
  .settings(
    name := "zonemap-ingest",
    // As in jvm/iceberg: Spark completes the shaded runtime, and no source of this module names a Spark type.
    libraryDependencies ++= Seq(
      icebergSparkRuntime,
      sparkSql,
      sqliteJdbc,
      kafkaClients.withConfigurations(Some("test"))),
    // The simulation runs the same code for minutes, which pays for the second compiler; a JVM of its own has it.
    Test / testGrouping := {
      val options = (Test / forkOptions).value
      val both = options.withRunJVMOptions(options.runJVMOptions.filterNot(_ == oneCompiler))
      val (simulated, others) = (Test / definedTests).value.partition(_.name.startsWith("zonemap.ingest.sim."))
      Seq(
        Tests.Group("simulation", simulated, Tests.SubProcess(both)),
        Tests.Group("others", others, Tests.SubProcess(options)))
    }
  )

/** The libraries of the Kafka broker that tests start as a process. */
val Broker = config("broker").hide

/** Where tests find these libraries. */
def kafkaBrokerOption(classpath: Seq[File]): String =
  "-Dzonemap.kafka.broker=" + classpath.map(_.getPath).mkString(java.io.File.pathSeparator)

lazy val ingestKafka = (project in file("jvm/ingest-kafka"))
  .dependsOn(ingest % "compile->compile;test->test;provided->provided")
  .settings(testSettings)
  .settings(
    name := "zonemap-ingest-kafka",
    libraryDependencies ++= Seq(kafkaClients, kafkaBroker),
    ivyConfigurations += Broker,
    Test / javaOptions += kafkaBrokerOption(update.value.select(configurationFilter(Broker.name)))
  )

lazy val ingestSpark = (project in file("jvm/ingest-spark"))
  .dependsOn(
    spark % "compile->compile;test->test;provided->provided",
    ingestKafka % "compile->compile;test->test;provided->provided")
  .settings(testSettings)
  .settings(jarOf("ingest-spark", sparkMinor, "ingest")(ingest, ingestKafka))
  .settings(
    name := "zonemap-ingest-spark",
    Test / javaOptions += kafkaBrokerOption((ingestKafka / update).value.select(configurationFilter(Broker.name))))

/**
 * A module of jvm/ once more, for Spark 4.0: its sources are compiled against another Spark and another runtime of
 * Iceberg. The modules without a type of Spark are compiled once. `make test-matrix` tests the jars.
 */
def forSpark40(id: String, module: String): Project =
  Project(id, file(s"jvm/$module/target/spark-4.0"))
    .settings(
      sourceDirectory := (ThisBuild / baseDirectory).value / "jvm" / module / "src",
      Test / unmanagedSources := Nil,
      libraryDependencies ++= Seq(icebergSparkRuntime40, sparkSql40)
    )

lazy val spark40 = forSpark40("spark40", "spark")
  .enablePlugins(BuildInfoPlugin)
  .dependsOn(iceberg)
  .settings(testSettings, sourcesFor(sparkMinor40))
  .settings(Test / unmanagedSources := Seq(
    "SharedSession.scala",
    "scan/PinnedSnapshotsTest.scala",
    "expression/LateConfsTest.scala")
    .map(sourceDirectory.value / "test" / "scala" / "zonemap" / "spark" / _))

lazy val insight40 = forSpark40("insight40", "insight")
  .dependsOn(spark40, server % "runtime->compile")
  .settings(jarOf("spark", sparkMinor40, ofPlanner: _*)(core, iceberg, spark40, server))
  .settings(name := "zonemap-insight")

lazy val ingestSpark40 = forSpark40("ingestSpark40", "ingest-spark")
  .dependsOn(spark40, ingestKafka)
  .settings(jarOf("ingest-spark", sparkMinor40, "ingest")(ingest, ingestKafka))
  .settings(name := "zonemap-ingest-spark")

/**
 * A module once more, for Spark 3.5 and its Scala. Spark has the part of Scala 2.13's library that the sources use in
 * `scala-collection-compat`; [[Scala212]] adds the rest.
 */
def forSpark35(id: String, module: String): Project =
  Project(id, file(s"jvm/$module/target/spark-3.5"))
    .settings(
      scalaVersion := scalaVersion212,
      scalacOptions := Seq("-release", "17", "-feature", "-unchecked", "-encoding", "UTF-8"),
      functionsAsClasses,
      sourceDirectory := (ThisBuild / baseDirectory).value / "jvm" / module / "src",
      Compile / sources := Scala212.copies((Compile / sources).value, target.value / "copies"),
      Test / unmanagedSources := Nil,
      assembly / test := {},
      libraryDependencies ++= Seq(icebergSparkRuntime35, sparkSql35)
    )

lazy val core35 = forSpark35("core35", "core").settings(name := "zonemap-core")
lazy val iceberg35 = forSpark35("iceberg35", "iceberg").dependsOn(core35).settings(name := "zonemap-iceberg")
lazy val server35 = forSpark35("server35", "server").dependsOn(iceberg35).settings(name := "zonemap-server")
lazy val spark35 = forSpark35("spark35", "spark")
  .enablePlugins(BuildInfoPlugin)
  .dependsOn(iceberg35)
  .settings(testSettings, sourcesFor(sparkMinor35))
  // Spark evaluates functions by the rules of its version, and Iceberg pins tables by those of its runtime.
  .settings(
    Test / unmanagedSources :=
      Seq("spark/src/test/scala/zonemap/spark/SharedSession.scala", "core/src/test/scala/zonemap/core/Seeded.scala")
        .map((ThisBuild / baseDirectory).value / "jvm" / _) ++
        (sourceDirectory.value / "test" / "scala" / "zonemap" / "spark" / "expression" * "*.scala").get
          .filterNot(_.getName == "StepTest.scala") ++ // of collations
        (sourceDirectory.value / "test" / "spark-3.5" ** "*.scala").get :+
        sourceDirectory.value / "test" / "scala" / "zonemap" / "spark" / "scan" / "PinnedSnapshotsTest.scala",
    Test / sources := Scala212.copies((Test / sources).value, target.value / "test-copies"))
lazy val insight35 = forSpark35("insight35", "insight")
  .dependsOn(spark35, server35 % "runtime->compile")
  .settings(jarOf("spark", sparkMinor35, ofPlanner :+ "compat": _*)(core35, iceberg35, spark35, server35))
  .settings(name := "zonemap-insight")

/** Tests of the whole: its floors, its state, its reference pages. */
lazy val house = (project in file("jvm/house"))
  .dependsOn(
    insight % "compile->compile;test->test;provided->provided",
    server,
    ingestSpark % "compile->compile;test->test;provided->provided")
  .settings(testSettings)
  .settings(name := "zonemap-house", publish / skip := true, libraryDependencies += archUnit)

// Benchmarks; see benchmarks/README.md.
def benchmarkSettings(suite: String): Seq[Setting[_]] = Seq(
  name := s"zonemap-benchmark-$suite",
  publish / skip := true,
  libraryDependencies ++= Seq(icebergSparkRuntime, sparkSql),
  Compile / run / fork := true,
  Compile / run / baseDirectory := (ThisBuild / baseDirectory).value,
  Compile / run / javaOptions ++= sparkJvmOptions :+ ("-Xmx" + sys.props.getOrElse("zonemap.heap", "8g")),
  // the class path of Provided libraries, which sbt leaves out of `run`
  Compile / runMain := Defaults.runMainTask(Compile / fullClasspath, Compile / run / runner).evaluated,
  Compile / run := Defaults
    .runTask(Compile / fullClasspath, Compile / run / mainClass, Compile / run / runner)
    .evaluated
)

lazy val planningBenchmark = (project in file("benchmarks/planning"))
  .dependsOn(insight % "compile->compile;provided->provided")
  .settings(benchmarkSettings("planning"))
  .settings(Compile / run / mainClass := Some("zonemap.benchmarks.planning.PlanningBenchmark"))

lazy val strategiesBenchmark = (project in file("benchmarks/strategies"))
  .dependsOn(insight % "compile->compile;provided->provided", planningBenchmark)
  .settings(benchmarkSettings("strategies"))

lazy val ingestBenchmark = (project in file("benchmarks/ingest"))
  .dependsOn(
    insight % "compile->compile;provided->provided",
    ingestSpark % "compile->compile;provided->provided",
    planningBenchmark,
    strategiesBenchmark)
  .settings(benchmarkSettings("ingest"))
  .settings(
    libraryDependencies += sqliteJdbc.withConfigurations(Some("provided")),
    // Hadoop runs two chmod processes for each local file it writes, half of what a small file costs.
    Compile / run / javaOptions += "-Djdk.lang.Process.launchMechanism=VFORK"
  )

lazy val loadBenchmark = (project in file("benchmarks/load"))
  .dependsOn(insight % "compile->compile;provided->provided", planningBenchmark)
  .settings(benchmarkSettings("load"))
  .settings(Compile / run / javaOptions += "-Djdk.lang.Process.launchMechanism=VFORK")

lazy val jmhBenchmark = (project in file("benchmarks/jmh"))
  .enablePlugins(JmhPlugin)
  .dependsOn(core)
  .settings(
    name := "zonemap-benchmark-jmh",
    publish / skip := true,
    libraryDependencies += zstdJni.withConfigurations(Some("compile")),
    Jmh / run / baseDirectory := (ThisBuild / baseDirectory).value
  )

// Not part of the root: tests need none of them.
lazy val benchmarks = (project in file("benchmarks"))
  .aggregate(planningBenchmark, strategiesBenchmark, ingestBenchmark, loadBenchmark, jmhBenchmark)
  .settings(name := "zonemap-benchmarks", publish / skip := true)

lazy val root = (project in file("."))
  .aggregate(core, iceberg, server, spark, insight, ingest, ingestKafka, ingestSpark, house)
  .aggregate(spark40, insight40, ingestSpark40)
  .settings(name := "zonemap", publish / skip := true)

/** Writes the jars of each minor of Spark, with their POMs and sources, into the Maven repository build/maven. */
addCommandAlias(
  "publishJars",
  Seq(insight, ingestSpark, insight40, ingestSpark40, insight35).map(jar => s"${jar.id}/publish").mkString(";"))
