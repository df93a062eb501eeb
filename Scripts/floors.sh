#!/usr/bin/env bash
# Measures the cost of the file formats alone (Scripts/floors): the part of the counts of instructions.sh that no library can avoid.
#   floors.sh [workload ...]          instructions per row, counted by valgrind
#   floors.sh --time [workload ...]   processor and wall time for 10,000 rows, beside plain SQLite
# Needs cc, SQLite and zstd with their headers, the benchmark program (`make instructions` builds it), and valgrind
# to count.
set -euo pipefail
all=(insert update commit change durable delta delta-edited again again-edited apply delete open)
isTimed= workloads=()
for word in "$@"; do
  case $word in
  --time) isTimed=yes ;;
  *)
    [[ " ${all[*]} " == *" $word "* ]] || { echo "no workload $word: they are ${all[*]}" >&2; exit 1; }
    workloads+=("$word") ;;
  esac
done
[ ${#workloads[@]} -gt 0 ] || workloads=("${all[@]}")
program=${BENCHMARKS:-.build-bench/release/Benchmarks}
needed=(cc)
[ -n "$isTimed" ] || needed+=(valgrind)
for tool in "${needed[@]}"; do
  command -v "$tool" >/dev/null || { echo "floors are not measured: $tool is missing" >&2; exit 1; }
done
[ -x "$program" ] || { echo "floors are not measured: there is no $program, which BENCHMARKS may name" >&2; exit 1; }

folder=$(mktemp -d)
export folder
trap 'rm -rf "$folder"' EXIT
here=$(dirname "$0")
keys=$here/../Sources/CTallySQLite
cc -O2 -I "$keys/include" -o "$folder/floors" "$here/floors/floors.c" "$keys/KeyTable.c" -lsqlite3 -lzstd

# As in instructions.sh. Of transactions some hundred tell enough.
sizes() { case $1 in commit | change | durable) echo 300 900 ;; open) echo 20 60 ;; *) echo 1000 4000 ;; esac; }

# How many rows the file has: as many as are worked on, or fewer, of which each is changed more than once.
rows() { case $1 in commit | change | durable | open) echo 300 ;; update) echo 1000 ;; *) echo "$2" ;; esac; }

store() { [ -e "$folder/store-$1" ] || "$program" --records "$1" --write-store "$folder/store-$1"; }

# Runs a workload (1) on a file of so many rows (2) so many times (3). The rest goes to the program as it is.
work() {
  local name=$1 rows=$2 records=$3 place flags=()
  shift 3
  [[ $name == *-edited ]] && flags=(edited)
  place=$(mktemp -d -p "$folder")
  cp "$folder/store-$rows" "$place/file"
  cp "$folder/store-$rows" "$place/file-second"
  ${counter:-} "$folder/floors" "${name%-edited}" "$place/file" "$records" "${flags[@]}" "$@"
  rm -r "$place"
}

count() {
  local counter="valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null"
  work "$1" "$2" "$3" $4 2>&1 | sed -n 's/.*I *refs: *//p' | tr -d , >"$folder/$1-$3-${4:-all}"
  [ -s "$folder/$1-$3-${4:-all}" ] || { echo "$1 with $3 rows was not counted" >&2; return 1; }
}
export -f work count

# The difference of two runs, less what comes before: what it takes to start falls out.
floor() {
  local few many
  read -r few many <<<"$(sizes "$1")"
  counted() { cat "$folder/$1-$2-$3"; }
  echo $((($(counted "$1" "$many" all) - $(counted "$1" "$many" prepare) \
    - $(counted "$1" "$few" all) + $(counted "$1" "$few" prepare)) / (many - few)))
}

countAll() {
  local name records
  for name in "${workloads[@]}"; do for records in $(sizes "$name"); do store "$(rows "$name" "$records")"; done; done
  for name in "${workloads[@]}"; do for records in $(sizes "$name"); do
    echo "$name $(rows "$name" "$records") $records"
    echo "$name $(rows "$name" "$records") $records prepare"
  done; done | xargs -P "$(nproc)" -L 1 bash -c 'count "$1" "$2" "$3" "${4:-}"' count
  echo "| | floor |"
  echo "| --- | --- |"
  for name in "${workloads[@]}"; do
    echo "| $name | $((($(floor "$name") + 50) / 100 * 100)) |"
  done | sed -E ':again; s/([0-9])([0-9]{3})([, ])/\1,\2\3/; t again'
}

rounds=5 records=10000

median() { sort -g | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'; }
column() { awk -v column="$2" '{ print $column }' "$folder/rounds-$1" | median; }

# Processor time and wall time of each side, and the ratios of each round; who comes first alternates.
timeAll() {
  local name round side times
  store $records
  echo "| | floor | plain SQLite | ratio | wall, floor | wall, plain | ratio |"
  echo "| --- | --- | --- | --- | --- | --- | --- |"
  for name in "${workloads[@]}"; do
    times=$records
    # Opening takes a thousand times as long as an update.
    [ "$name" = open ] && times=1000
    for round in $(seq $rounds); do
      for side in $([ $((round % 2)) = 0 ] && echo floor plain || echo plain floor); do
        work "$name" $records $times time $([ $side = plain ] && echo plain) >"$folder/$side"
      done
      paste -d ' ' "$folder/floor" "$folder/plain" | awk '{ floor = $1 + $2; plain = $4 + $5
        print floor * 1000, plain * 1000, floor / plain, $3 * 1000, $6 * 1000, $3 / $6 }'
    done >"$folder/rounds-$name"
    printf '| %s | %.1f ms | %.1f ms | %.2f | %.1f ms | %.1f ms | %.2f |\n' "$name" $(for place in 1 2 3 4 5 6; do
      column "$name" $place
    done)
  done
}

if [ -n "$isTimed" ]; then timeAll; else countAll; fi
