package zonemap.ingest.write

/** The queue holds so many records that a writer must stop; the message names the figures and the key. */
private[zonemap] final class BackPressureException(message: String) extends RuntimeException(message)
