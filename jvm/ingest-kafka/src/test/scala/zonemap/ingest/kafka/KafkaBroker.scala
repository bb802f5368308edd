// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.kafka

import java.net.{InetAddress, ServerSocket}
import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit

import scala.jdk.CollectionConverters._
import scala.util.{Failure, Try}

import org.apache.kafka.clients.admin.{Admin, AlterConfigOp, ConfigEntry, NewTopic, RecordsToDelete}
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.config.ConfigResource

/** A broker in a process of its own, on two ports of the loopback interface. Its folder survives a restart. */
final class KafkaBroker(folder: Path) extends AutoCloseable {
  import KafkaBroker._

  private val (port, controllerPort) = freePorts()
  private var process = Option.empty[Process]
  val servers = s"127.0.0.1:$port"
  private val config = folder.resolve("server.properties")
  private val logs = Files.createDirectories(folder.resolve("logs"))
  Files.writeString(logs.resolve("meta.properties"), "version=1\nnode.id=1\ncluster.id=4L6g3nShT-eMCtK--X86sw\n")
  Files.writeString(config, properties)

  private def properties =
    s"""process.roles=broker,controller
       |node.id=1
       |controller.quorum.voters=1@127.0.0.1:$controllerPort
       |listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$controllerPort
       |advertised.listeners=PLAINTEXT://127.0.0.1:$port
       |controller.listener.names=CONTROLLER
       |log.dirs=$logs
       |auto.create.topics.enable=false
       |num.network.threads=1
       |num.io.threads=2
       |broker.session.timeout.ms=2000
       |broker.heartbeat.interval.ms=500
       |offsets.topic.replication.factor=1
       |""".stripMargin

  def start(): Unit = {
    val java = Path.of(System.getProperty("java.home"), "bin", "java").toString
    val options = Seq("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    val command =
      (java +: options) ++ Seq("-cp", System.getProperty("zonemap.kafka.broker"), "kafka.Kafka", config.toString)
    val output = folder.resolve("broker.log").toFile
    process = Some(
      new ProcessBuilder(command.asJava)
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.appendTo(output))
        .start())
    awaitStart(System.nanoTime() + StartNanos)
  }

  private def awaitStart(deadline: Long): Unit =
    Try(admin(_.listTopics().names().get(5, TimeUnit.SECONDS))) match {
      case Failure(_) if System.nanoTime() < deadline && process.exists(_.isAlive) =>
        Thread.sleep(100)
        awaitStart(deadline)
      case Failure(e) =>
        throw new IllegalStateException(s"no broker: ${Files.readString(folder.resolve("broker.log"))}", e)
      case _ => ()
    }

  /** As `kill -9`. */
  def kill(): Unit = {
    process.foreach(_.destroyForcibly().waitFor())
    process = None
  }

  /** Stops the process, and lets it go on. */
  def signal(name: String): Unit =
    new ProcessBuilder("kill", s"-$name", process.get.pid().toString).start().waitFor(): Unit

  def admin[A](work: Admin => A): A = {
    val admin = Admin.create(
      Map[String, AnyRef](
        "bootstrap.servers" -> servers,
        "default.api.timeout.ms" -> "10000",
        "request.timeout.ms" -> "5000").asJava)
    try work(admin)
    finally admin.close()
  }

  /** Creates the topic, and returns when the broker shows it. */
  def createTopic(name: String, configs: (String, String)*): Unit = admin { admin =>
    val topic = new NewTopic(name, 1, 1.toShort).configs(configs.toMap.asJava)
    admin.createTopics(Seq(topic).asJava).all().get()
    while (!admin.listTopics().names().get().contains(name)) Thread.sleep(20)
  }

  /** Deletes the topic, and returns when no broker shows it. */
  def deleteTopic(name: String): Unit = admin { admin =>
    admin.deleteTopics(Seq(name).asJava).all().get()
    while (admin.listTopics().names().get().contains(name)) Thread.sleep(20)
  }

  def configure(topic: String, key: String, value: String): Unit = admin { admin =>
    val resource = new ConfigResource(ConfigResource.Type.TOPIC, topic)
    val change: java.util.Collection[AlterConfigOp] =
      Seq(new AlterConfigOp(new ConfigEntry(key, value), AlterConfigOp.OpType.SET)).asJavaCollection
    admin.incrementalAlterConfigs(Map(resource -> change).asJava).all().get()
  }: Unit

  /** Deletes all records of a topic, as its retention would. */
  def deleteRecords(topic: String): Unit = admin { admin =>
    val partitions = admin.describeTopics(Seq(topic).asJava).allTopicNames().get().get(topic).partitions().size()
    val all = (0 until partitions).map(p => new TopicPartition(topic, p) -> RecordsToDelete.beforeOffset(-1L)).toMap
    admin.deleteRecords(all.asJava).all().get()
  }: Unit

  override def close(): Unit = kill()
}

object KafkaBroker {
  private val StartNanos = 60L * 1000000000

  /** One broker for all suites of a process. */
  lazy val shared: KafkaBroker = {
    val broker = new KafkaBroker(Files.createTempDirectory("kafka"))
    Runtime.getRuntime.addShutdownHook(new Thread(() => broker.close()))
    broker.start()
    broker
  }

  private def freePorts(): (Int, Int) = {
    val (one, other) = (freeSocket(), freeSocket())
    try (one.getLocalPort, other.getLocalPort)
    finally {
      one.close()
      other.close()
    }
  }

  private def freeSocket(): ServerSocket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress)
}
