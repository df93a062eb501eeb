#!/usr/bin/env bash
# Coverage-guided fuzzing with libFuzzer: Docs/Fuzzing.md.
#   Scripts/fuzz.sh SECONDS [TARGET…]   runs each target for a part of the time, keeps inputs that find something new in .build-fuzz/corpus
#   Scripts/fuzz.sh minimise            puts the smallest set of inputs with the same coverage into Tests/Fuzz/Corpus
set -euo pipefail
cd "$(dirname "$0")/.."
# swift-backtrace would hang after a crash.
export SWIFT_BACKTRACE=enable=no TALLY_FUZZ=1
swift build -c release --product fuzz --scratch-path .build-fuzz
fuzz=.build-fuzz/release/fuzz
kept=Tests/Fuzz/Corpus
work=.build-fuzz/corpus
mkdir -p "$work" .build-fuzz/artifacts
"$fuzz" seeds "$work"

if [ "${1:-}" = minimise ]; then
  for target in $("$fuzz" list); do
    mkdir -p "$kept/$target" .build-fuzz/minimised
    rm -rf ".build-fuzz/minimised/$target"
    mkdir ".build-fuzz/minimised/$target"
    "$fuzz" "$target" -merge=1 ".build-fuzz/minimised/$target" "$kept/$target" "$work/$target" 2>/dev/null
    # A file named regression-… once broke something; it stays, with any coverage. Of the rest the 60 smallest.
    find "$kept/$target" -type f ! -name 'regression-*' -delete
    ls -Sr ".build-fuzz/minimised/$target" | sed -n 1,60p | while read -r name; do
      cp ".build-fuzz/minimised/$target/$name" "$kept/$target/$name"
    done
    echo "$target: $(ls "$kept/$target" | wc -l) inputs"
  done
  exit 0
fi

seconds=${1:-60}
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <("$fuzz" list)
each=$((seconds / ${#targets[@]} > 0 ? seconds / ${#targets[@]} : 1))
status=0
for target in "${targets[@]}"; do
  mkdir -p "$work/$target" "$kept/$target"
  log=.build-fuzz/$target.log
  if "$fuzz" "$target" "$work/$target" "$kept/$target" -max_total_time=$each -timeout=20 -rss_limit_mb=4096 \
    -print_final_stats=1 -artifact_prefix=".build-fuzz/artifacts/$target-" >"$log" 2>&1; then
    echo "$target: $(awk '/number_of_executed_units/ { print $2 }' "$log") executions in $each s, nothing broke"
  else
    grep -E 'broken:|Fatal error|ERROR|Test unit written' "$log" || tail -n 20 "$log"
    echo "$target: FAILED; $log" >&2
    status=1
  fi
done
exit $status
