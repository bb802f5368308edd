package zonemap.spark

/** The indexes that this JVM holds in memory, for tests and benchmarks. */
private[zonemap] object HeldIndexes {

  /** Forgets them all, as a new start of the driver would. */
  def forget(): Unit = ZoneMapRuntime.active.foreach(_.forgetIndexes())
}
