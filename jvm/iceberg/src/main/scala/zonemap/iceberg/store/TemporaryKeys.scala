// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.store

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.iceberg.io.{FileIO, SupportsStorageCredentials}

/**
 * Keys of a store that a catalog gives with a table and that expire. A `FileIO` has them from its creation on; the
 * catalog gives others when it loads the table again. The properties are those of Iceberg's REST specification.
 */
private[zonemap] object TemporaryKeys {

  /** Parts of the names of properties that hold temporary keys of S3, Azure and Google. */
  private val Temporary = Seq("session-token", "sas-token", "oauth2.token")

  /** The part of the names of properties that say when they expire, in milliseconds since 1970. */
  private val ExpiresAt = "token-expires-at"

  /** Keys are used until this long before they expire; those that do not say when they expire, for this long. */
  private val MarginMillis = 300L * 1000

  def areUsedBy(io: FileIO): Boolean = properties(io).exists { case (name, _) => Temporary.exists(name.contains) }

  /**
   * How long the keys may be used from now on, in milliseconds: until five minutes before they expire, and for half of
   * a shorter life. `None` if they do not expire. A time that lies behind shows that the clocks differ, and is not
   * used.
   */
  def useMillis(io: FileIO, nowMillis: Long): Option[Long] = {
    val lives = properties(io)
      .collect { case (name, value) if name.contains(ExpiresAt) => value.toLongOption }
      .flatten
      .map(_ - nowMillis)
    lives.minOption.filter(_ > 0) match {
      case Some(life) => Some(math.max(life / 2, life - MarginMillis))
      case None       => Option.when(areUsedBy(io))(MarginMillis)
    }
  }

  /** A `FileIO` need not tell its properties. */
  private def properties(io: FileIO): Seq[(String, String)] = {
    val own = Try(io.properties().asScala.toSeq).getOrElse(Nil)
    io match {
      case vended: SupportsStorageCredentials => own ++ vended.credentials().asScala.flatMap(_.config().asScala)
      case _                                  => own
    }
  }
}
