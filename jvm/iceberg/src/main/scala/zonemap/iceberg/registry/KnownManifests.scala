package zonemap.iceberg.registry

import scala.collection.mutable

import zonemap.core.io.HeapBytes
import zonemap.core.segment.ManifestIdentity
import zonemap.iceberg.snapshot.{Located, SegmentOrigin}

/**
 * Which segments have which manifests, the one learned last first. Not thread-safe.
 *
 * A segment costs its manifests when it is learned first or with another live set, and when it is forgotten; not once a
 * snapshot.
 */
private final class KnownManifests[S <: AnyRef] {
  private val places = mutable.HashMap.empty[ManifestIdentity, List[Located[S]]]
  private val learned = new java.util.IdentityHashMap[S, Learned]

  private final class Learned(val origin: SegmentOrigin, val identityOf: Int => ManifestIdentity) {
    val ordinals = mutable.BitSet.empty
  }

  def find(identity: ManifestIdentity): Option[Located[S]] = places.get(identity).map(_.head)

  def learn(segment: S, origin: SegmentOrigin, liveManifests: Array[Int])(identityOf: Int => ManifestIdentity): Unit = {
    // a segment that has got into a store since is known by its place there
    if (origin.stored.isDefined && Option(learned.get(segment)).exists(_.origin.stored != origin.stored))
      forget(segment)
    val known = learned.computeIfAbsent(segment, _ => new Learned(origin, identityOf))
    liveManifests.foreach { ordinal =>
      if (known.ordinals.add(ordinal))
        places.updateWith(identityOf(ordinal)) { others =>
          Some(Located(segment, known.origin, ordinal) :: others.getOrElse(Nil))
        }
    }
  }

  def forget(segment: S): Unit =
    Option(learned.remove(segment)).foreach { known =>
      known.ordinals.foreach { ordinal =>
        places.updateWith(known.identityOf(ordinal))(_.map(_.filterNot(_.segment eq segment)).filter(_.nonEmpty))
      }
    }

  /** An estimate of what is held beside the segments. */
  def heapBytes: Long =
    HeapBytes.hashMap(
      places.size) + places.size * KnownManifests.PlaceBytes + learned.size * KnownManifests.LearnedBytes

  def clear(): Unit = {
    places.clear()
    learned.clear()
  }
}

private object KnownManifests {

  /** A list of one place, of which there are seldom more. */
  private val PlaceBytes: Long = HeapBytes.instance(8) + HeapBytes.instance(12)

  /** What was learned of a segment: a small set of ordinals, in a map. */
  private val LearnedBytes = 150L
}
