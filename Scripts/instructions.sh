#!/usr/bin/env bash
# Counts the instructions that one row costs, beside plain SQLite: they repeat where times do not. Needs valgrind.
set -euo pipefail
command -v valgrind >/dev/null || { echo "valgrind is missing: apt-get install valgrind" >&2; exit 1; }
program=${BENCHMARKS:-.build-bench/release/Benchmarks}
few=2000 many=7000
# Without its debug information, which valgrind may not be able to read.
copy=$(mktemp)
trap 'rm -f "$copy"' EXIT
strip -o "$copy" "$program"
program=$copy

total() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$@" 2>&1 | sed -n 's/.*Collected : //p'
}

per_row() {
  echo $((($(total --records $many "$@") - $(total --records $few "$@")) / (many - few)))
}

rows=$(per_row --count rows --plain)
printf '%-8s %10s %10s %6s\n' workload plain store ratio
for workload in ${*:-insert update}; do
  plain=$(($(per_row --count "$workload" --plain) - rows))
  store=$(($(per_row --count "$workload") - rows))
  printf '%-8s %10d %10d %6s\n' "$workload" "$plain" "$store" "$(awk "BEGIN { printf \"%.2f\", $store / $plain }")"
done
