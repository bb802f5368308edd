package zonemap.ingest.record

import java.security.SecureRandom

/** Random names of 16 hexadecimal digits, which keep the files of two writers apart. */
private[zonemap] object Nonce {
  val Pattern = "[0-9a-f]{16}"

  private val Compiled = Pattern.r

  def isNonce(text: String): Boolean = Compiled.matches(text)

  def draw(): String = f"${new SecureRandom().nextLong()}%016x"
}
