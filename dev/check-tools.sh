#!/usr/bin/env bash
# Checks the tools that the build needs. For each tool that is missing or too old, one line names the tool.
set -u
here=$(cd "$(dirname "$0")" && pwd)
die() { echo "zonemap: $1" >&2; exit 2; }

java=${JAVA_HOME:+$JAVA_HOME/bin/}java
command -v "$java" >/dev/null 2>&1 || die "Java is missing: install a Java 17 JDK (Debian: openjdk-17-jdk-headless)"
# "17.0.15" -> 17, "1.8.0_402" -> 8
version=$("$java" -version 2>&1 | sed -n 's/.*version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p' | head -n 1)
[ "${version:-0}" -ge 17 ] || die "Java ${version:-of an unknown version} is too old: install a Java 17 JDK, or point JAVA_HOME to one"
"${java%java}javac" -version >/dev/null 2>&1 || die "javac is missing: install the JDK of Java $version, not only its runtime"

"$here/find-python.sh" >/dev/null || exit 2
"$("$here/find-python.sh")" -c 'import ensurepip, venv' 2>/dev/null ||
  die "Python's venv module is missing: install it (Debian: python3-venv)"

if ! command -v sbt >/dev/null 2>&1 || [ "${1:-}" = "--maven" ]; then
  command -v mvn >/dev/null 2>&1 || die "Maven is missing: install Apache Maven 3 (it fetches the sbt launcher and the test jars)"
fi
