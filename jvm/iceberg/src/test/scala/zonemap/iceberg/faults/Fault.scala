// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.faults

/**
 * A fault of a store, at one of its calls.
 *
 * @param isLasting whether calls after the first one meet it too, or the store is another one afterwards
 */
sealed abstract class Fault(val name: String, val isLasting: Boolean = false)

object Fault {

  /** The call answers after some time. */
  final case class Delay(millis: Long) extends Fault(s"answers after $millis ms")

  /** The call does not return until the test releases it. */
  case object Hang extends Fault("hangs")

  /** A read returns half of the bytes, a write stores half of them; both report success. */
  case object Truncate extends Fault("is truncated")

  /** A read returns one bit that is wrong, a write stores it; both report success. */
  case object Flip extends Fault("has a flipped bit")

  /** The call is refused. */
  case object Deny extends Fault("is denied")

  /** The call fails after some time. */
  case object TimeOut extends Fault("times out")

  /** The file of a read is missing, and a write reports success although no file is there. */
  case object Vanish extends Fault("finds no file")

  /** From the call on, each write fails and leaves this share of its bytes in the file; reads work. */
  final case class DiskFull(percent: Int) extends Fault(s"meets a full disk after $percent % of its bytes", true)

  /** The process ends: the call, if it writes, leaves half of its bytes, and no later call is made. */
  case object Halt extends Fault("ends the process", true)

  /** Another process works on the same store before the call. */
  final case class Meanwhile(who: String, work: () => Unit) extends Fault(s"meets $who", true)

  /** A method, because a fault that is initialized first would be missing in a value. */
  def all: Seq[Fault] =
    Seq(Delay(150), Hang, Truncate, Flip, Deny, TimeOut, Vanish, DiskFull(0), DiskFull(50), DiskFull(100), Halt)
}
