package zonemap.ingest.record

import java.util.Locale

/** Numbers in names of files: 20 ASCII digits in every locale, so that names sort by number. */
private[zonemap] object Digits {
  def of(number: Long): String = "%020d".formatLocal(Locale.ROOT, number)
}
