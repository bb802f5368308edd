#!/usr/bin/env bash
# Fetches every jar listed in the file $2, dev/jars.txt by default (group:artifact:version[:classifier]), into the folder
# $1 with one run of Maven. Jars that are already present are kept.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
into=${1:-$root/build/jars}
mkdir -p "$into"
into=$(cd "$into" && pwd)
listed=()
items=""
while IFS=: read -r group artifact version classifier; do
  name=$artifact-$version${classifier:+-$classifier}.jar
  listed+=("$name")
  [ -f "$into/$name" ] && continue
  echo "zonemap: fetching ${name%.jar}" >&2
  items+="<artifactItem><groupId>$group</groupId><artifactId>$artifact</artifactId><version>$version</version>"
  items+="${classifier:+<classifier>$classifier</classifier>}</artifactItem>"
done < <(grep -vE '^[[:space:]]*(#|$)' "${2:-$root/dev/jars.txt}")
[ -z "$items" ] && exit 0

# Maven needs a project file, because its command line accepts only one artifact.
project=$(mktemp -d)
trap 'rm -rf "$project"' EXIT
cat >"$project/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>zonemap</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>
  <build><plugins><plugin>
    <groupId>org.apache.maven.plugins</groupId><artifactId>maven-dependency-plugin</artifactId><version>3.6.1</version>
    <configuration>
      <outputDirectory>$into</outputDirectory>
      <useBaseVersion>true</useBaseVersion>
      <artifactItems>$items</artifactItems>
    </configuration>
  </plugin></plugins></build>
</project>
POM
mvn -q -B -Dstyle.color=never -f "$project/pom.xml" dependency:copy >&2
for name in "${listed[@]}"; do
  [ -f "$into/$name" ] || { echo "zonemap: Maven did not deliver $name" >&2; exit 1; }
done
