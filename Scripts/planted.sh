#!/usr/bin/env bash
# Enables each planted fault, counts the seeds until it is noticed, and writes the results into Docs/PlantedFaults.md and into the hints
# of Soak. SOAK is the program; FINDINGS, if set, is a file with output that it has already printed.
set -euo pipefail
cd "$(dirname "$0")/.."
page=Docs/PlantedFaults.md
hints=Tests/Support/Playground/PlantedHints.swift
begin='<!-- planted faults -->'
end='<!-- end of planted faults -->'
found=$(mktemp)
trap 'rm -f "$found"' EXIT
if [ -n "${FINDINGS:-}" ]; then cp "$FINDINGS" "$found"; else ${SOAK:?} planted --renew | tee "$found"; fi

# What a fault does, from its documentation.
meaning() {
  awk -v name="$1" '
    /^ *\/\/\/ / { sub(/^ *\/\/\/ /, ""); text = text == "" ? $0 : text " " $0; next }
    $0 ~ "static let " name " =" { print text }
    { text = "" }' Tests/Faults/PlantedFault.swift
}

table() {
  echo "| fault | what it does | seeds until it is noticed |"
  echo "| --- | --- | --- |"
  cut -d' ' -f1 "$found" | awk '!seen[$0]++' | while read -r name; do
    counts=$(awk -v name="$name" '$1 == name { printf "%s%s: %s", (n++ ? ", " : ""), $2, $3 }' "$found")
    echo "| \`$name\` | $(meaning "$name") | $counts |"
  done
}

renewed=$(awk -v begin="$begin" '{ print } $0 == begin { exit }' "$page"; echo; table; echo
  awk -v end="$end" '$0 == end { rest = 1 } rest { print }' "$page")
printf '%s\n' "$renewed" >"$page"

{
  echo "/// For each planted fault and tier the first seed that notices it. Written by \`make planted\`."
  echo "package enum PlantedHints {"
  echo "  package static let seeds: [String: UInt64] = ["
  awk '$3 != "never" { printf "    \"%s %s\": %s,\n", $1, $2, $3 }' "$found"
  echo "  ]"
  echo "}"
} >"$hints"
