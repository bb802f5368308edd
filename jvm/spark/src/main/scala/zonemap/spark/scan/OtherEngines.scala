// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import java.util.Locale

import org.apache.spark.sql.internal.SQLConf

/** Engines that recognize Spark's and Iceberg's scans by class; next to them, zonemap wraps no scan and plans Iceberg's tasks. */
private[zonemap] object OtherEngines {
  private val Names = Seq("comet", "gluten", "nvidia", "rapids")

  def areConfigured(conf: SQLConf): Boolean =
    Seq("spark.plugins", "spark.sql.extensions").exists { key =>
      val value = conf.getConfString(key, "").toLowerCase(Locale.ROOT)
      Names.exists(value.contains(_))
    }
}
