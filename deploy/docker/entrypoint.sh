#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Starts one Weir process with the options its JVM needs; the arguments are those of ./weir.
set -eu
# files of a process are its user's alone; other commands write files that are meant for others
case "${1:-}" in ingest | aggregate) umask 077 ;; esac
version=$(java -XshowSettings:properties -version 2>&1 |
  sed -n 's/^ *java\.specification\.version = \([0-9]*\).*/\1/p')
options="-XX:+ExitOnOutOfMemoryError"
[ "$version" -lt 21 ] || options="$options --enable-native-access=ALL-UNNAMED"
[ "$version" -lt 24 ] || options="$options --sun-misc-unsafe-memory-access=allow"
# shellcheck disable=SC2086 # the variables hold several options
exec java $options ${WEIR_JAVA_OPTS:--XX:MaxRAMPercentage=70} -cp "$(dirname "$0")/lib/*" \
  io.weir.cli.WeirCommand "$@"
