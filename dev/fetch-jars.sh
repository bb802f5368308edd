#!/usr/bin/env bash
# Fetches every jar that dev/jars.txt lists (group:artifact:version) with Maven into the folder $1. Present ones are kept.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
into=${1:-$root/build/jars}
plugin=org.apache.maven.plugins:maven-dependency-plugin:3.6.1
mkdir -p "$into"
grep -vE '^[[:space:]]*(#|$)' "$root/dev/jars.txt" | while IFS=: read -r group artifact version; do
  [ -f "$into/$artifact-$version.jar" ] && continue
  echo "zonemap: fetching $artifact $version" >&2
  cd "$root/dev"
  mvn -q -B "$plugin:get" "-Dartifact=$group:$artifact:$version" -Dtransitive=false >&2 </dev/null
  mvn -q -B -o "$plugin:copy" "-Dartifact=$group:$artifact:$version" "-DoutputDirectory=$into" -Dmdep.useBaseVersion=true >&2 </dev/null ||
    mvn -q -B "$plugin:copy" "-Dartifact=$group:$artifact:$version" "-DoutputDirectory=$into" -Dmdep.useBaseVersion=true >&2 </dev/null
done
