// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.registry

import scala.collection.mutable

import zonemap.core.io.HeapBytes
import zonemap.core.segment.ManifestIdentity
import zonemap.iceberg.snapshot.{Located, SegmentOrigin}

/**
 * The segments that contain each manifest, the most recently added first. Not thread-safe.
 *
 * The cost of a segment is proportional to its manifests. It arises when the segment is added, when it is added with
 * other live manifests, and when it is removed, but not for every snapshot.
 */
private final class ManifestSegments[S <: AnyRef] {
  private val places = mutable.HashMap.empty[ManifestIdentity, List[Located[S]]]
  private val learned = new java.util.IdentityHashMap[S, Learned]

  private final class Learned(val origin: SegmentOrigin, val identityOf: Int => ManifestIdentity) {
    val ordinals = mutable.BitSet.empty
  }

  def find(identity: ManifestIdentity): Option[Located[S]] = places.get(identity).map(_.head)

  def learn(segment: S, origin: SegmentOrigin, liveManifests: Array[Int])(identityOf: Int => ManifestIdentity): Unit = {
    // a segment that has been stored since is added again with its place in the store
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

  /** An estimate of the heap that this object uses, without the segments. */
  def heapBytes: Long =
    HeapBytes.hashMap(
      places.size) + places.size * ManifestSegments.PlaceBytes + learned.size * ManifestSegments.LearnedBytes

  def clear(): Unit = {
    places.clear()
    learned.clear()
  }
}

private object ManifestSegments {

  /** The heap of a list with one place; a manifest seldom has more. */
  private val PlaceBytes: Long = HeapBytes.instance(8) + HeapBytes.instance(12)

  /** The heap of one segment's entry: a small set of ordinals, in a map. */
  private val LearnedBytes = 150L
}
