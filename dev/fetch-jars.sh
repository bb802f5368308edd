#!/usr/bin/env bash
# Fetches every jar that dev/jars.txt lists (group:artifact:version[:classifier]) with Maven into the folder $1. Present
# ones are kept.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
into=${1:-$root/build/jars}
plugin=org.apache.maven.plugins:maven-dependency-plugin:3.6.1
mkdir -p "$into"
into=$(cd "$into" && pwd)
grep -vE '^[[:space:]]*(#|$)' "$root/dev/jars.txt" | while IFS=: read -r group artifact version classifier; do
  name=$artifact-$version${classifier:+-$classifier}.jar
  coordinates=$group:$artifact:$version${classifier:+:jar:$classifier}
  [ -f "$into/$name" ] && continue
  echo "zonemap: fetching ${name%.jar}" >&2
  mvn -q -B -Dstyle.color=never "$plugin:get" "-Dartifact=$coordinates" -Dtransitive=false >&2 </dev/null
  mvn -q -B -Dstyle.color=never "$plugin:copy" "-Dartifact=$coordinates" "-DoutputDirectory=$into" -Dmdep.useBaseVersion=true >&2 </dev/null
  [ -f "$into/$name" ] || { echo "zonemap: Maven did not deliver $name" >&2; exit 1; }
done
