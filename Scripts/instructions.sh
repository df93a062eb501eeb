#!/usr/bin/env bash
# Counts the instructions that one row costs. Counts are repeatable, times are not. Needs valgrind.
#   instructions.sh [--json FILE] [--markdown FILE] [workload ...]   beside plain SQLite; the page's table is between its markers
#   instructions.sh --gate                         only the store, against Scripts/instructions-limits.txt
set -euo pipefail
limits=$(dirname "$0")/instructions-limits.txt
all=(insert update first commit change delta again apply delete empty open close seed edits deletes exchange
  refused owned nested owned-delete nested-delete moved counted beside linked listed placed named lensed lensed-insert settled lensed-settled used-insert used-first
  used-delete used-apply)
gate= json= markdown= workloads=()
while [ $# -gt 0 ]; do
  case $1 in
  --gate) gate=yes ;;
  --json) json=$2; shift ;;
  --markdown) markdown=$2; shift ;;
  *)
    [[ " ${all[*]} " == *" $1 "* ]] || { echo "no workload $1: they are ${all[*]}" >&2; exit 1; }
    workloads+=("$1") ;;
  esac
  shift
done
[ ${#workloads[@]} -gt 0 ] || workloads=("${all[@]}")
if ! command -v valgrind >/dev/null; then
  echo "instructions are not counted: valgrind is missing (apt-get install valgrind)" >&2
  [ -n "$gate" ]; exit
fi

export folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Without its debug information, which valgrind may not be able to read; and Swift's libraries without theirs, since each run reads it.
strip -o "$folder/program" "${BENCHMARKS:-.build-bench/release/Benchmarks}"
mkdir "$folder/libraries"
for library in $(ldd "$folder/program" | awk '/swift|Foundation/ && $3 ~ /^\// { print $3 }'); do
  strip -o "$folder/libraries/${library##*/}" "$library" 2>/dev/null || cp "$library" "$folder/libraries"
done

# Cachegrind without its caches counts the same instructions as callgrind in half the time, and takes a tenth less where it translates no
# further than to the next jump; dictionaries that hash with another seed in each process would not repeat. Of several counts the least
# stays: threads that the machine starts otherwise than usual add to a count, and nothing takes from it.
count() {
  local side= file="$folder/$1-$2-$3" libraries=$folder/libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} found
  [ "$2" = store ] || side=--plain
  found=$(SWIFT_DETERMINISTIC_HASHING=1 LD_LIBRARY_PATH=$libraries valgrind --tool=cachegrind --cache-sim=no \
    --cachegrind-out-file=/dev/null --vex-guest-chase=no "$folder/program" --records "$3" --count "$1" $side 2>&1 | sed -n 's/.*I *refs: *//p' | tr -d ,)
  [ -n "$found" ] || { echo "$1 on a $2 database with $3 rows was not counted" >&2; return 1; }
  [ -s "$file" ] && [ "$(cat "$file")" -le "$found" ] || echo "$found" >"$file"
}
export -f count

# What a workload does before what is to be counted: it costs as much alone.
before() {
  case $1-$2 in
  again-store) echo delta ;;
  apply-store) echo delta ;;
  exchange-*) echo edits ;;
  edits-* | deletes-*) echo both ;;
  settled-*) echo edited ;;
  lensed-settled-*) echo lensed-edited ;;
  lensed-store | lensed-insert-store) echo lensed-rows ;;
  empty-store) echo delete ;;
  linked-* | listed-*) echo teams ;;
  placed-*) echo listed ;;
  owned-delete-* | owned-store | owned-plain | moved-*) echo owned-rows ;;
  nested-delete-* | nested-store | nested-plain) echo nested-rows ;;
  used-first-* | used-delete-*) echo used-insert ;;
  used-insert-* | used-apply-plain) echo rows ;;
  used-apply-store) echo delta ;;
  first-* | refused-* | delta-* | again-* | delete-* | empty-*) echo insert ;;
  *) echo rows ;;
  esac
}

# Two numbers of rows that are compared. Of transactions some hundred tell enough.
sizes() { case $1 in commit | change | owned* | nested* | moved) echo 300 900 ;; open | close | seed) echo 20 60 ;; *) echo 1000 4000 ;; esac; }

# Making the rows has nothing to do with the database.
side_of() { [ "$1" = rows ] && echo plain || echo "$2"; }

# What is run to know the cost of the given workloads.
needed() {
  local sides="store" workload side first
  [ -n "$gate" ] || sides="store plain"
  for workload in "$@"; do for side in $sides; do
    first=$(before "$workload" "$side")
    for records in $(sizes "$workload"); do echo "$workload $side $records"; done
    for records in $(sizes "$first"); do echo "$first $(side_of "$first" "$side") $records"; done
  done; done | sort -u
}
count_all() { needed "$@" | xargs -P "$(nproc)" -L 1 bash -c 'count "$@"' count; }
count_all "${workloads[@]}"

# The difference of two runs: what it takes to start falls out.
per_row() {
  local few many
  read -r few many <<<"$(sizes "$1")"
  echo $((($(cat "$folder/$1-$2-$many") - $(cat "$folder/$1-$2-$few")) / (many - few)))
}

cost() {
  local first
  first=$(before "$1" "$2")
  echo $(($(per_row "$1" "$2") - $(per_row "$first" "$(side_of "$first" "$2")")))
}

limit_of() { awk -v workload="$1" -v column="$2" '$1 == workload { print $column }' "$limits"; }

# Whether a workload takes more than five in a hundred more than is accepted.
is_over() {
  local accepted
  accepted=$(limit_of "$1" 2)
  [ -n "$gate" ] && [ -n "$accepted" ] && [ $(($(cost "$1" store) * 100)) -gt $((accepted * 105)) ]
}

# 45,400 for 45397: the last two digits are noise.
rounded() { printf "%d" $((($1 + 50) / 100 * 100)) | sed -E ':again; s/^([0-9]+)([0-9]{3})/\1,\2/; t again'; }

status=0 lines=() rows=()
printf '%-13s %10s %10s %6s %10s %10s\n' workload plain store ratio accepted aim
for workload in "${workloads[@]}"; do
  for again in 2 3; do
    is_over "$workload" || break
    echo "$workload takes $(cost "$workload" store): counted again ($again of 3)"
    count_all "$workload"
  done
  store=$(cost "$workload" store) plain= ratio=
  accepted=$(limit_of "$workload" 2) aim=$(limit_of "$workload" 3)
  if [ -z "$gate" ]; then
    plain=$(cost "$workload" plain)
    ratio=$(awk "BEGIN { printf \"%.2f\", $store / $plain }")
  fi
  printf '%-13s %10s %10d %6s %10s %10s\n' "$workload" "$plain" "$store" "$ratio" "$accepted" "$aim"
  lines+=("{\"workload\": \"$workload\", \"plain\": ${plain:-null}, \"store\": $store, \"accepted\": ${accepted:-null}, \"aim\": $([[ $aim =~ ^[0-9]+$ ]] && echo "$aim" || echo null)}")
  [ -z "$markdown" ] || rows+=("| $workload | $(rounded "$plain") | $(rounded "$store") | $ratio | $([[ $aim =~ ^[0-9]+$ ]] && rounded "$aim" || true) |")
  if is_over "$workload"; then
    echo "$workload takes $store instructions a row; accepted are $accepted (Scripts/instructions-limits.txt)" >&2
    status=1
  elif [ -n "$gate" ] && [ -n "$accepted" ] && [ $((store * 100)) -lt $((accepted * 97)) ]; then
    echo "$workload takes less than is accepted: lower it in Scripts/instructions-limits.txt"
  fi
done
if [ -n "$json" ]; then
  (IFS=$'\n'; echo "[${lines[*]}]" | sed 's/}$/},/; s/},*\]$/}]/') >"$json"
fi
if [ -n "$markdown" ]; then
  table="| | plain SQLite | a store | ratio | aimed at |"$'\n'"| --- | --- | --- | --- | --- |"$'\n'$(IFS=$'\n'; echo "${rows[*]}")
  table=$table awk '/^<!-- instructions -->$/ { print; print ""; print ENVIRON["table"]; print ""; skip = 1; next }
    /^<!-- end of instructions -->$/ { skip = 0 } !skip' "$markdown" >"$folder/page"
  grep -q "^<!-- end of instructions -->$" "$folder/page" || { echo "$markdown has no markers of instructions" >&2; exit 1; }
  cat "$folder/page" >"$markdown"
fi
exit $status
