// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.testing

import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.logging.log4j.{Level, LogManager}
import org.apache.logging.log4j.core.{LogEvent, Logger}
import org.apache.logging.log4j.core.appender.AbstractAppender
import org.apache.logging.log4j.core.config.Property

/** The warnings of a logger while a block runs. */
object LoggedWarnings {
  def of(logger: String)(run: => Unit): Seq[String] = {
    val messages = new ConcurrentLinkedQueue[String]
    val appender = new AbstractAppender("test", null, null, true, Property.EMPTY_ARRAY) {
      override def append(event: LogEvent): Unit =
        if (event.getLevel == Level.WARN) messages.add(event.getMessage.getFormattedMessage): Unit
    }
    appender.start()
    val target = LogManager.getLogger(logger).asInstanceOf[Logger]
    val before = target.getLevel
    target.addAppender(appender)
    target.setLevel(Level.WARN)
    try run
    finally {
      target.removeAppender(appender)
      target.setLevel(before)
    }
    messages.asScala.toSeq
  }
}
