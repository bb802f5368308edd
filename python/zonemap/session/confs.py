# SPDX-License-Identifier: Apache-2.0
"""Names of the Spark confs and classes that this package sets; the JVM registry is the source."""

PREFIX = "spark.sql.zonemap."

EXTENSIONS = "spark.sql.extensions"
JARS = "spark.jars"
PACKAGES = "spark.jars.packages"
CATALOG = "spark.sql.catalog.zonemap"

ENABLED = PREFIX + "enabled"
SHADOW = PREFIX + "shadow"
SHADOW_SAMPLE = PREFIX + "shadow.sample"
UPKEEP = PREFIX + "upkeep"
COVER_ON_READ = PREFIX + "cover-on-read"
STORE_LOCATION = PREFIX + "store.location"
HOT_WINDOW = PREFIX + "hot.window"
HOT_MAX_BYTES = PREFIX + "hot.max-bytes"
COLD_CACHE_MAX_BYTES = PREFIX + "cold.cache-max-bytes"
COLD_CACHE_DIR = PREFIX + "cold.cache-dir"
COLD_CACHE_DISK_MAX_BYTES = PREFIX + "cold.cache-disk-max-bytes"
MAX_CPU_SHARE = PREFIX + "upkeep.max-cpu-share"
FLUSH_INTERVAL = PREFIX + "upkeep.flush-interval"
FLUSH_MANIFESTS = PREFIX + "upkeep.flush-manifests"
MAINTAIN_FACTS = PREFIX + "upkeep.maintain-facts"
MERGE_POLICY = PREFIX + "merge.policy"
MERGE_LIMIT = PREFIX + "merge.limit"
MERGE_FORCED_EVERY = PREFIX + "merge.forced-every"
MERGE_HARD_CAP = PREFIX + "merge.hard-cap"

ICEBERG_EXTENSION = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
EXTENSION_CLASS = "zonemap.spark.ZoneMapExtension"
CATALOG_CLASS = "zonemap.spark.ZoneMapCatalog"
INGEST_CLASS = "zonemap.ingest.spark.IngestPart"

UPKEEP_VALUES = ("off", "memory", "persist", "auto")
COVER_ON_READ_VALUES = ("background", "wait")
MERGE_POLICY_VALUES = ("probabilistic", "deterministic", "off")
