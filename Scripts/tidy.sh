#!/usr/bin/env bash
# House rules that a formatter does not know.
set -euo pipefail
status=0

# A file is one idea; none has more than 500 lines.
while IFS= read -r file; do
  lines=$(wc -l <"$file")
  if [ "$lines" -gt 500 ]; then
    echo "$file has $lines lines; 500 is the most" >&2
    status=1
  fi
done < <(git ls-files '*.swift')

# The pure core has no hidden dependency.
if grep -nE '^ *(@_exported |public |package )?import ' Sources/TallyCRDT/*.swift; then
  echo "TallyCRDT imports nothing" >&2
  status=1
fi

# Only the store spells SQL and knows GRDB.
if grep -lE '^import (GRDB|GRDBSQLite)' -r Sources/TallyCRDT Sources/TallyWire Sources/TallySync; then
  echo "only TallyStore and the tool import GRDB" >&2
  status=1
fi

# What the documentation promises of seeds is what the tests are named after.
bash Scripts/seed-scenarios.sh --check || status=1
exit $status
