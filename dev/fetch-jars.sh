#!/usr/bin/env bash
# Fetches every jar that dev/jars.txt lists (group:artifact:version) with Maven into the folder $1. Present ones are kept.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
into=${1:-$root/build/jars}
plugin=org.apache.maven.plugins:maven-dependency-plugin:3.6.1
mkdir -p "$into"
into=$(cd "$into" && pwd)
grep -vE '^[[:space:]]*(#|$)' "$root/dev/jars.txt" | while IFS=: read -r group artifact version; do
  [ -f "$into/$artifact-$version.jar" ] && continue
  echo "zonemap: fetching $artifact $version" >&2
  mvn -q -B -Dstyle.color=never "$plugin:get" "-Dartifact=$group:$artifact:$version" -Dtransitive=false >&2 </dev/null
  mvn -q -B -Dstyle.color=never "$plugin:copy" "-Dartifact=$group:$artifact:$version" "-DoutputDirectory=$into" -Dmdep.useBaseVersion=true >&2 </dev/null
  [ -f "$into/$artifact-$version.jar" ] || { echo "zonemap: Maven did not deliver $artifact-$version.jar" >&2; exit 1; }
done
