package zonemap.iceberg.settings

/**
 * Where the scans of a query are kept beyond the end of the driver.
 *
 * @param dir the local folder; `None`: they are kept in memory only
 * @param application the id of the application that plans them
 */
final case class HistorySettings(dir: Option[String] = None, application: String = "")
