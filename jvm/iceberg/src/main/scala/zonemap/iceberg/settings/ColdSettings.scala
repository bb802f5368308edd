// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.settings

/**
 * Limits of the local cache, which retains ranges that a JVM fetched from remote stores.
 *
 * @param memoryMaxBytes the greatest total size of cached ranges in memory
 * @param dir the folder on local disk for cached ranges and for spilled segments; `None`: ranges are cached in memory
 *   only, and segments are spilled to the JVM's folder for temporary files
 * @param diskMaxBytes the greatest total size of the cached ranges in `dir`, and of the segments that one JVM spills
 */
final case class ColdSettings(
    memoryMaxBytes: Long = 256L << 20,
    dir: Option[String] = None,
    diskMaxBytes: Long = 4L << 30)
