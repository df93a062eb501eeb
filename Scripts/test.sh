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
  grep -A 12 -E '^✘ Test .* recorded an issue|Fatal error|unexpected signal' "$log" | grep -vE '^(◇|✔)' | head -150
  # The end is what is always kept of a log.
  grep -E '^✘ Test .* recorded an issue|Fatal error|unexpected signal' "$log" | cut -c 1-240 | tail -5
fi
exit "$status"
