// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.commit

/**
 * The settings of a committer, of its loop and of the back-pressure of writers.
 *
 * @param intervalMillis the shortest time between two commits to one table, unless half of `softLimitRecords` arrive
 *   before it is over
 * @param pollMillis how often the queue is looked at when nothing rings the doorbell
 * @param maxDutyCycle the greatest share of time in which commits to one table are under way, above 0 and at most 1
 * @param maxFilesPerCommit data files in one commit, at most, unless a single record has more
 * @param maxRecordsPerCommit records in one commit, at most
 * @param maxBytesPerCommit bytes of records in one commit, at most, unless a single record has more
 * @param mergeManifests manifests of a branch from which appends merge manifests
 * @param retryMillis how long one pass retries a commit before it gives up; the records stay in the queue
 * @param checkFilesAfterMillis the age from which the files of a record are checked before they are committed
 * @param quarantineMillis the age from which refused records are quarantined in a snapshot without files
 * @param heldAlarmMillis the age from which a record whose predecessor is missing is reported
 * @param oldestAlarmMillis the age of the oldest pending record that is reported
 * @param softLimitRecords pending records from which writers wait
 * @param hardLimitRecords pending records from which writers fail
 * @param softWaitMillis how long a writer waits at the soft limit before it goes on
 * @param maxFileAgeMillis the age from which a writer refuses data files; half of the least age of gc, at most
 * @param gapsKept the numbers left out by a lane that a state lists, at most: the newest gaps between records
 * @param laneRetentionMillis how long a state lists a lane after it was drawn, at least; a producer uses it for a quarter
 *   of this time
 * @param tidyMillis how often a loop deletes files of the ingest root that nothing needs
 * @param blockLane whether a refused record blocks its lane until a person discards it, instead of being passed
 */
private[zonemap] final case class IngestSettings(
    intervalMillis: Long = 5000,
    pollMillis: Long = 1000,
    maxDutyCycle: Double = 0.5,
    maxFilesPerCommit: Int = 10000,
    maxRecordsPerCommit: Int = 10000,
    maxBytesPerCommit: Long = 64L << 20,
    mergeManifests: Int = 100,
    retryMillis: Long = 5 * 60 * 1000,
    checkFilesAfterMillis: Long = 10 * 60 * 1000,
    quarantineMillis: Long = 60 * 1000,
    heldAlarmMillis: Long = 10 * 60 * 1000,
    oldestAlarmMillis: Long = 36L * 3600 * 1000,
    softLimitRecords: Long = 1000,
    hardLimitRecords: Long = 10000,
    softWaitMillis: Long = 10 * 1000,
    maxFileAgeMillis: Long = 36L * 3600 * 1000,
    gapsKept: Int = 16,
    laneRetentionMillis: Long = 2 * 3600 * 1000,
    tidyMillis: Long = 3600 * 1000,
    blockLane: Boolean = false) {

  /** How long a producer uses a lane that it has drawn. */
  def laneMillis: Long = laneRetentionMillis / 4
}
