#!/usr/bin/env bash
# Generates the scenario table of Docs/Seeds.md from the names of the tests: a test's name states what a person may rely on.
#   Scripts/seed-scenarios.sh           prints the table
#   Scripts/seed-scenarios.sh --write   puts it into the document
#   Scripts/seed-scenarios.sh --check   fails if the document has a different table
set -euo pipefail
cd "$(dirname "$0")/.."
document=Docs/Seeds.md
tests=(Tests/TallyStoreTests/Seed{,Recipe,Regression}Tests.swift)
begin='<!-- scenarios -->'
end='<!-- end of scenarios -->'

table() {
  echo "| what holds | test |"
  echo "| --- | --- |"
  for file in "${tests[@]}"; do
    sed -nE 's/^ *@Test.* func ([A-Za-z0-9]+)\(.*/\1/p' "$file" | while read -r name; do
      # duplicatesGiveWay becomes "Duplicates give way".
      words=$(sed -E 's/([a-z0-9])([A-Z])/\1 \2/g; s/([A-Z])([A-Z][a-z])/\1 \2/g' <<<"$name" |
        tr '[:upper:]' '[:lower:]' | sed -E "s/ persons( |\$)/ person's\1/")
      echo "| $(tr '[:lower:]' '[:upper:]' <<<"${words:0:1}")${words:1} | \`$(basename "$file" .swift)/$name\` |"
    done
  done
}

# The document with the table between its marks.
renewed() {
  awk -v begin="$begin" '{ print } $0 == begin { exit }' "$document"
  echo
  table
  echo
  awk -v end="$end" '$0 == end { rest = 1 } rest { print }' "$document"
}

for mark in "$begin" "$end"; do
  [ "$(grep -cxF -- "$mark" "$document")" = 1 ] || { echo "$document: there is not one line $mark" >&2; exit 1; }
done

case "${1:-}" in
  "") table ;;
  --write)
    new=$(renewed)
    printf '%s\n' "$new" >"$document"
    ;;
  --check)
    if ! diff "$document" <(renewed) >&2; then
      echo "$document: the scenarios are not those of the tests; run Scripts/seed-scenarios.sh --write" >&2
      exit 1
    fi
    ;;
  *)
    echo "usage: seed-scenarios.sh [--write | --check]" >&2
    exit 64
    ;;
esac
