# SPDX-License-Identifier: Apache-2.0
"""Names of the Spark confs and classes that this package sets; the JVM registry is the source."""

PREFIX = "spark.sql.zonemap."

EXTENSIONS = "spark.sql.extensions"
JARS = "spark.jars"
PACKAGES = "spark.jars.packages"
CATALOG = "spark.sql.catalog.zonemap"

ENABLED = PREFIX + "enabled"
SHADOW = PREFIX + "shadow.enabled"
SHADOW_SAMPLE = PREFIX + "shadow.sample"
UPKEEP = PREFIX + "upkeep.mode"
COVER_ON_READ = PREFIX + "coverOnRead"
STORE_LOCATION = PREFIX + "store.location"
HOT_WINDOW = PREFIX + "hot.window"
HOT_MAX_BYTES = PREFIX + "hot.maxBytes"
COLD_CACHE_MAX_BYTES = PREFIX + "cold.cacheMaxBytes"
COLD_CACHE_DIR = PREFIX + "cold.cacheDir"
COLD_CACHE_DISK_MAX_BYTES = PREFIX + "cold.cacheDiskMaxBytes"
MAX_CPU_SHARE = PREFIX + "upkeep.maxCpuShare"
FLUSH_INTERVAL = PREFIX + "upkeep.flushInterval"
FLUSH_MANIFESTS = PREFIX + "upkeep.flushManifests"
MAINTAIN_FACTS = PREFIX + "upkeep.maintainFacts.enabled"
MERGE_POLICY = PREFIX + "merge.policy"
MERGE_LIMIT = PREFIX + "merge.limit"
MERGE_FORCED_EVERY = PREFIX + "merge.forcedEvery"
MERGE_HARD_CAP = PREFIX + "merge.hardCap"

ICEBERG_EXTENSION = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
EXTENSION_CLASS = "zonemap.spark.ZoneMapExtension"
CATALOG_CLASS = "zonemap.spark.ZoneMapCatalog"
INGEST_CLASS = "zonemap.ingest.spark.IngestPart"

UPKEEP_VALUES = ("off", "memory", "persist", "auto")
COVER_ON_READ_VALUES = ("background", "wait")
MERGE_POLICY_VALUES = ("probabilistic", "deterministic", "off")
