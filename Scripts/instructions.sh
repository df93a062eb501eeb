#!/usr/bin/env bash
# Counts the instructions that one row costs, beside plain SQLite: they repeat where times do not. Needs valgrind.
set -euo pipefail
command -v valgrind >/dev/null || { echo "valgrind is missing: apt-get install valgrind" >&2; exit 1; }
program=${BENCHMARKS:-.build-bench/release/Benchmarks}
# Without its debug information, which valgrind may not be able to read.
copy=$(mktemp)
trap 'rm -f "$copy"' EXIT
strip -o "$copy" "$program"
program=$copy

total() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$@" 2>&1 | sed -n 's/.*Collected : //p'
}

declare -A known
# Leaves the instructions for a row in $result.
per_row() {
  local key="$*" few=2000 many=7000
  # A thousand transactions tell enough.
  case $1 in commit | change) few=1000 many=2000 ;; esac
  if [ -z "${known[$key]:-}" ]; then
    known[$key]=$((($(total --records $many --count "$@") - $(total --records $few --count "$@")) / (many - few)))
  fi
  result=${known[$key]}
}

# What a workload does before what is to be counted.
before() {
  case $1 in
  delta | again | delete) echo insert ;;
  apply) [ "$2" = store ] && echo delta || echo rows ;;
  *) echo rows ;;
  esac
}

printf '%-8s %10s %10s %6s\n' workload plain store ratio
for workload in ${*:-insert update}; do
  per_row "$workload" --plain; plain=$result
  per_row "$(before "$workload" plain)" --plain; plain=$((plain - result))
  per_row "$workload"; store=$result
  per_row "$(before "$workload" store)" $([ "$(before "$workload" store)" = rows ] && echo --plain); store=$((store - result))
  # A full delta comes before it is applied again.
  if [ "$workload" = again ]; then per_row delta; store=$((store - result)); per_row insert; store=$((store + result)); fi
  printf '%-8s %10d %10d %6s\n' "$workload" "$plain" "$store" "$(awk "BEGIN { printf \"%.2f\", $store / $plain }")"
done
