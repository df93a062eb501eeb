#!/usr/bin/env bash
# Checks house rules that a formatter does not know.
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

allowed() { awk -v rule="$1" -v file="$2" '$1 == rule && $2 == file { found = 1 } END { exit !found }' Scripts/tidy-allowed.txt; }
complain() {
  echo "$1" >&2
  status=1
}

# Time and randomness are arguments: nothing else reads the machine's, but where it comes in.
ambient='\bDate\(\)|\bDate\.now\b|(Continuous|Suspending)Clock|Dispatch(Wall)?Time\.now|\btime\(nil\)|clock_gettime|gettimeofday'
ambient+='|\.random\(|\.shuffled\(\)|\.randomElement\(\)|SystemRandomNumberGenerator|\bUUID\(\)|arc4random'
while IFS=: read -r file line text; do
  allowed ambient "$file" || complain "$file:$line reads the clock or the randomness of the machine:$text"
done < <(git ls-files 'Sources/*.swift' | xargs grep -nE "$ambient" | grep -vE '^[^:]*:[0-9]*: *//' | grep -vE '\.random\(.*using: ')

# Tests/XCTMain.swift runs those of Swift Testing alone.
while IFS= read -r file; do
  complain "$file imports XCTest, whose tests nothing runs"
done < <(git ls-files 'Tests/*.swift' 'Examples/*.swift' | xargs grep -lE '^ *import XCTest')

# Comments are as wide as the formatter lets code be.
while IFS= read -r place; do
  complain "$place: a comment of more than 120 characters"
done < <(git ls-files '*.swift' | LC_ALL=C.UTF-8 xargs grep -nE '^.{121,}$' | grep -E '^[^:]*:[0-9]+: *//' | cut -d: -f1,2)

# A file is named after a type that it declares or extends.
while IFS= read -r file; do
  type=$(basename "$file" .swift)
  type=${type%%+*}
  grep -qE "(struct|class|enum|actor|protocol|extension|typealias) +([A-Za-z]+\.)?$type\b" "$file" ||
    allowed name "$file" || complain "$file neither declares nor extends $type"
done < <(git ls-files 'Sources/*.swift')

# Tests in a plain `swift test` hold all threads of the pool for minutes, so a short limit of time ends a test that
# only waits its turn. Where sessions and engines need limits, tests have them; others have none.
apart='^Tests/(TransportTests|TallySyncTests|TallyCLITests|PantryTests|ReadmeTests|DocExamples|RelayTests|InspectorTests)/'
while IFS=: read -r file line text; do
  complain "$file:$line has a limit of time, in a run where others may hold all threads:$text"
done < <(git ls-files 'Tests/*.swift' | grep -vE "$apart" | xargs grep -nE '\.timeLimit\(\.minutes\([0-9]\)')

# What is let pass is there.
while read -r rule file _; do
  [ -f "$file" ] || complain "Scripts/tidy-allowed.txt lets $file pass ($rule), which is not there"
done < <(grep -vE '^#' Scripts/tidy-allowed.txt)

# A page whose parts are there twice was put together by mistake.
while IFS= read -r page; do
  while IFS= read -r heading; do complain "$page has the heading twice: $heading"; done \
    < <(awk '/^```/ { code = !code } !code && /^## / && seen[$0]++ == 1' "$page")
done < <(git ls-files '*.md')

# A line of the changelog that is there twice, too.
while IFS= read -r line; do complain "CHANGELOG.md says it twice: ${line:0:70}"; done < <(grep '^- ' CHANGELOG.md | cut -c 1-70 | sort | uniq -d)

# `make long` plays every tier that there is.
while IFS= read -r tier; do
  grep -qE "^for tier in .*\b$tier\b" Scripts/long.sh || complain "Scripts/long.sh does not play the tier $tier"
done < <(sed -nE 's/^ +case ([a-z]+)$/\1/p' Tests/Support/Playground/SimulationTier.swift)

# Each decision is in the list of them.
for file in Docs/Decisions/0*.md; do
  grep -q "]($(basename "$file"))" Docs/Decisions/README.md || complain "Docs/Decisions/README.md does not list $file"
done

# What the rooms of the store name of each other, and how large its types and files are.
if command -v python3 >/dev/null; then
  python3 Scripts/rooms.py || status=1
  python3 Scripts/rooms.py --self-test || status=1
else
  echo "The rooms of the store were not checked: there is no python3."
fi

# What only a Mac compiles is listed.
if command -v python3 >/dev/null; then python3 Scripts/apple.py --check || status=1; fi

# What the documentation promises of seeds is what the tests are named after.
bash Scripts/seed-scenarios.sh --check || status=1
# Examples of pages and documentation comments are compiled.
bash Scripts/doc-examples.sh --check || status=1
exit $status
