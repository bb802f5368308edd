package zonemap.ingest.record

import java.security.SecureRandom

/** Random names of 16 hexadecimal digits, which keep the files of two writers apart. */
private[zonemap] object Nonce {
  val Pattern = "[0-9a-f]{16}"

  def draw(): String = f"${new SecureRandom().nextLong()}%016x"
}
