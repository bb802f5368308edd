package zonemap.ingest.table

/** The file of a [[LaneState]]. */
private[zonemap] object StateFile {

  /** The path of a state file in the ingest root. */
  def path(no: Long, nonce: String): String = f"state/$no%020d-$nonce.json"
}
