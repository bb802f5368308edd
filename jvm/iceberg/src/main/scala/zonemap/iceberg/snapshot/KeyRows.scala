// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.snapshot

import java.util.{Arrays, BitSet}

import zonemap.core.column.Bitmap
import zonemap.core.fact.{FactFile, FactKey, KeyIndex, KeysOfFile}
import zonemap.core.segment.Segment
import zonemap.core.value.ColumnType

/**
 * The places of the data files of one segment in the indexes of keys of one column. The place of a data file is found
 * when it is needed first, which takes a digest of its path, and is retained. Thread-safe.
 *
 * @param files the files of keys, each with its index
 */
private[zonemap] final class KeyRows(files: IndexedSeq[(FactFile, KeyIndex)], rowCount: Int) {
  private val firsts = files.scanLeft(0)(_ + _._1.keysIterator.size).toArray

  /** For each row 0 as long as it was not needed, -1 if no index has its data file, or its place from 1 on. */
  private val places = new Array[Int](rowCount)

  def residentBytes: Long = rowCount.toLong * Integer.BYTES

  /**
   * Removes the rows from `rows` whose data files have no matching row.
   *
   * @param candidates the ordinals of the data files of an index that may have one; `None` if nothing is proven
   * @return whether an index has the data file of some row
   */
  def keep(segment: Segment, rows: Bitmap)(candidates: (ColumnType, KeyIndex) => Option[BitSet]): Boolean = {
    val found = files.map { case (file, index) => candidates(file.columnType, index) }.toArray
    lazy val paths = segment.newPathReader()
    var isKnown = false
    rows.forEach { row =>
      if (places(row) == 0)
        places(row) = placeOf(FactKey.of(paths.path(row), segment.fileSizeBytes(row))).fold(-1)(_ + 1)
      val place = places(row) - 1
      if (place >= 0) {
        isKnown = true
        val file = fileOf(place)
        if (found(file).exists(!_.get(place - firsts(file)))) rows.clear(row)
      }
    }
    isKnown
  }

  /** The file with a place; the last of several that begin there, since the others have no data files. */
  private def fileOf(place: Int): Int =
    if (files.sizeIs == 1) 0
    else {
      var file = Arrays.binarySearch(firsts, place)
      if (file < 0) -file - 2
      else {
        while (firsts(file + 1) == place) file += 1
        file
      }
    }

  private def placeOf(key: FactKey): Option[Int] =
    files.indices.iterator
      .flatMap { i =>
        files(i)._1.find(key).collect { case keys: KeysOfFile => firsts(i) + keys.ordinal }
      }
      .nextOption()
}
