package zonemap.iceberg.report

/** Where the segments that answered were. */
sealed abstract class Tier(val name: String)

object Tier {

  /** In this JVM already, in memory or mapped. */
  case object Hot extends Tier("hot")

  /** Fetched for this scan, from the table's store or the cold cache. */
  case object Cold extends Tier("cold")

  /** Some of them each. */
  case object Both extends Tier("both")
}
