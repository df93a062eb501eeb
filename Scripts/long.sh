#!/usr/bin/env bash
# What takes too long to stand before each change (Docs/Testing.md): make long, by night or before a release.
#
#   HOURS=3      how long the parts may take that take as long as one likes: a third of it, or three times as long
#   ONLY='soak'  only steps whose names match
#   FRESH=1      from the beginning; otherwise what has passed on the same sources is not run again, so it may be ended at any time
#
# Says at its start what it will do and how long that takes. Whatever fails is named at the end, with its seed, and all that it printed
# is kept; the other steps are run all the same.
set -uo pipefail
cd "$(dirname "$0")/.."
hours=${HOURS:-1}
scaled() { awk -v hours="$hours" -v value="$1" 'BEGIN { n = int(value * hours); print n < 1 ? 1 : n }'; }

# The sources as they are, committed or not: what passed on others says nothing of these.
sources=(Sources Tests Examples Package.swift)
key=$({ git ls-files -s "${sources[@]}"; git diff HEAD -- "${sources[@]}"; git ls-files -o --exclude-standard "${sources[@]}" | xargs -r cat; } |
  git hash-object --stdin | cut -c 1-12)
steps_folder=.build-long/$key
[ -z "${FRESH:-}" ] || rm -rf "$steps_folder"
mkdir -p "$steps_folder"
# shellcheck source=steps.sh
source Scripts/steps.sh
# A step runs in the background, where it would not notice that somebody ends the whole.
trap 'trap - TERM; kill 0; exit 130' INT TERM
# Each run plays seeds that no earlier one has played, as long as it is begun on another day.
first=$(($(date +%s) / 86400 % 100000 * 1000000))

# MINUTES NAME: COMMAND
steps=(
  "6 plain: swift build --build-tests --scratch-path .build-plain"
  "4 test: make test"
  "10 planted: make planted-check"
  "6 triggers: make test-triggers"
  "$(scaled 15) long-tests: TALLY_EFFORT=$((1 + $(scaled 1) )) make test"
  "$(scaled 12) crash: make crash FACTOR=$((1 + $(scaled 3)))"
)
for tier in core forged store copies seeds world relay rawsql damage value shred; do
  steps+=("$(scaled 2) soak-$tier: make soak SOAK_SECONDS=$(($(scaled 2) * 60)) FLAGS='--tier $tier --first $first'")
done
steps+=(
  "15 relay-build: make build-tests TRAITS=all"
  "$(scaled 10) relay: TALLY_EFFORT=$((1 + $(scaled 2))) make test-relay BUILT=1"
  "$(scaled 5) second-opinion: make second-opinion SECONDS=$(($(scaled 5) * 60))"
  "$((8 + $(scaled 4))) fuzz: make fuzz SECONDS=$(($(scaled 4) * 60))"
  "$(scaled 8) models: make models MODELS=$(($(scaled 5) * 100))"
  "20 sanitize-thread: bash Scripts/sanitize.sh thread"
  "20 sanitize-address: bash Scripts/sanitize.sh address"
  "12 coverage: make coverage"
)

todo=() minutes=0
echo "make long, on sources $key:"
for step in "${steps[@]}"; do
  read -r length rest <<<"$step"
  name=${rest%%: *}
  [[ $name =~ ${ONLY:-.} ]] || continue
  if [ -s "$steps_folder/$name.ended" ] && [ "$(cut -d' ' -f1 "$steps_folder/$name.ended")" = 0 ]; then
    printf '  %-18s passed before, in %s s\n' "$name" "$(cut -d' ' -f2 "$steps_folder/$name.ended")"
    continue
  fi
  printf '  %-18s about %3d min  %s\n' "$name" "$length" "${rest#*: }"
  todo+=("$rest")
  minutes=$((minutes + length))
done
echo "About $minutes minutes on two cores, builds included. What they print is in $steps_folder; call it again to go on where it was ended."

failed=()
for step in ${todo[@]+"${todo[@]}"}; do
  run_steps 1 "$step" || failed+=("${step%%: *}")
done
print_times
if [ ${#failed[@]} -gt 0 ]; then
  echo "Failed: ${failed[*]}"
  for name in "${failed[@]}"; do
    grep -H 'TALLY_SEED=' "$steps_folder/$name.log" | sort -u | head -10
  done
  exit 1
fi
echo "All of it passed."
