// SPDX-License-Identifier: Apache-2.0
package zonemap.core.column

import zonemap.core.io.{HeapBytes, Input, Output}
import zonemap.core.value.Presence

/**
 * Zones of one column as parallel arrays: lowest lower code, highest upper code, merged flags. A zone lacks a bound if
 * any of its files lacks it; files of only nulls or only NaN are ignored here, because bounds do not describe them.
 * Immutable once built.
 */
final private[core] class ZoneTable(val lower: Array[Char], val upper: Array[Char], val flags: Array[Byte]) {
  def size: Int = flags.length

  private[core] def heapBytes: Long =
    HeapBytes.instance(12) + 2 * HeapBytes.array(size, 2) + HeapBytes.array(size, 1)

  private[core] def write(out: Output): Unit = {
    lower.foreach(c => out.short(c))
    upper.foreach(c => out.short(c))
    out.raw(flags): Unit
  }
}

private[column] object ZoneTable {
  val ZoneBytes = 5

  def read(in: Input, zones: Int): ZoneTable = {
    in.checked(zones, ZoneBytes)
    def codes() = {
      val out = new Array[Char](zones)
      in.view(zones * 2).asCharBuffer().get(out)
      out
    }
    new ZoneTable(codes(), codes(), in.raw(zones))
  }

  /** The zones of one column, with one zone for each `zoneRows` consecutive rows. */
  def of(lower: Array[Char], upper: Array[Char], flags: Array[Byte], zoneRows: Int): ZoneTable = {
    val zones = (flags.length + zoneRows - 1) / zoneRows
    val out = new ZoneTable(new Array(zones), new Array(zones), new Array(zones))
    (0 until zones).foreach { zone =>
      merge(lower, upper, flags, zone * zoneRows, Math.min(flags.length, (zone + 1) * zoneRows), out, zone)
    }
    out
  }

  private def merge(
      lower: Array[Char],
      upper: Array[Char],
      flags: Array[Byte],
      from: Int,
      until: Int,
      out: ZoneTable,
      zone: Int): Unit = {
    var low = Char.MaxValue.toInt
    var high = 0
    var common = BoundsFlags.Lower | BoundsFlags.Upper | BoundsFlags.Tight
    var valued = 0
    var nulls = BoundsFlags.nulls(flags(from))
    var nans = BoundsFlags.nans(flags(from))
    (from until until).foreach { row =>
      val f = flags(row)
      nulls = Presence.merge(nulls, BoundsFlags.nulls(f))
      nans = Presence.merge(nans, BoundsFlags.nans(f))
      if (BoundsFlags.mayHoldValues(f)) {
        valued += 1
        common &= f
        low = Math.min(low, lower(row))
        high = Math.max(high, upper(row))
      }
    }
    val bounds = if (valued == 0) 0 else common
    out.lower(zone) = if (BoundsFlags.hasLower(bounds)) low.toChar else Dictionary.NoLower.toChar
    out.upper(zone) = if (BoundsFlags.hasUpper(bounds)) high.toChar else Dictionary.NoUpper.toChar
    out.flags(zone) = BoundsFlags
      .encode(BoundsFlags.hasLower(bounds), BoundsFlags.hasUpper(bounds), BoundsFlags.isTight(bounds), nulls, nans)
      .toByte
  }
}
