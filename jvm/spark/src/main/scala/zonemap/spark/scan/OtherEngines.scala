package zonemap.spark.scan

import org.apache.spark.sql.internal.SQLConf

/** Engines that recognize Spark's and Iceberg's scans by class; next to them, zonemap wraps no scan. */
private[spark] object OtherEngines {
  def areConfigured(conf: SQLConf): Boolean =
    Seq("spark.plugins", "spark.sql.extensions").exists { key =>
      val value = conf.getConfString(key, "").toLowerCase
      value.contains("comet") || value.contains("gluten")
    }
}
