#!/usr/bin/env bash
# `swift test` with the arguments given. Where tests fail, says once more at the end which, and what they noticed: a run prints
# thousands of lines.
set -uo pipefail
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"${SWIFT:-swift}" test "$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
if [ "$status" -ne 0 ]; then
  echo "Failed: swift test $*"
  grep -A 12 -E '^✘ Test .* recorded an issue|Fatal error|unexpected signal' "$log" | grep -vE '^(◇|✔|↳ )' | head -150
fi
exit "$status"
