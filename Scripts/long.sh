#!/usr/bin/env bash
# Runs everything that takes too long to run before each change (Docs/Testing.md): make long, by night or before a release.
#
#   HOURS=3      three times as long for the steps that can take any time; 1 by default
#   STEPS=soak   only steps whose names match
#   BEHIND=1     uses only idle processor time: tests with time limits may then fail for that reason alone
#   FRESH=1      starts from the beginning; otherwise steps that passed on the same sources are not run again, so it can be stopped any time
#
# Prints at its start what it will do and how long that takes. Each failure is named at the end, with its seed, and its whole output is
# kept; the other steps run all the same.
set -uo pipefail
cd "$(dirname "$0")/.."
hours=${HOURS:-1}
chosen=${STEPS:-.}
behind=${BEHIND:+ behind}
# What was said to `make long` is not meant for the commands that it calls.
unset ONLY STEPS BEHIND FLAGS TRAITS STRICT MAKEFLAGS MFLAGS MAKEOVERRIDES BUILT TESTING BUILD TALLY_TESTS
scaled() { awk -v hours="$hours" -v value="$1" 'BEGIN { n = int(value * hours); print n < 1 ? 1 : n }'; }

# The sources as they are, committed or not: what passed on others says nothing of these.
sources=(Sources Tests Examples Scripts Package.swift Makefile)
key=$({ git ls-files -s "${sources[@]}"; git diff HEAD -- "${sources[@]}"; git ls-files -o --exclude-standard "${sources[@]}" | xargs -r cat; } |
  git hash-object --stdin | cut -c 1-12)
steps_folder=.build-long/$key
[ -z "${FRESH:-}" ] || rm -rf "$steps_folder"
mkdir -p "$steps_folder"
# shellcheck source=steps.sh
source Scripts/steps.sh
trap 'end_steps; exit 130' INT TERM
# Each run plays seeds that no earlier one has played, as long as it is begun on another day.
first=$(($(date +%s) / 86400 % 100000 * 1000000))

# MINUTES NAME: COMMAND
steps=(
  "6 plain: swift build --build-tests --scratch-path .build-plain"
  "15 without-faults: SWIFT_DETERMINISTIC_HASHING=1 swift build --build-tests --scratch-path .build-unplanted --traits Network,Macros,Relay,Inspector,Spaces"
  "8 test: make test"
  "$(scaled 17) rebuilds: TALLY_CASES=$(scaled 10000) make test ONLY=RebuildFamilyTests BUILT=1"
  "2 other-tools: make other-tools"
  "$((25 + $(scaled 3))) old-builds: make old-builds SEED=$first HISTORIES=$(scaled 20)"
  "10 planted: make planted-check"
  "6 triggers: make test-triggers"
  "15 build-all: make build-tests TRAITS=all"
  "$(scaled 20) long-tests: TALLY_EFFORT=$((1 + $(scaled 1))) make test TRAITS=all BUILT=1"
  "$(scaled 12) crash: make crash FACTOR=$((1 + $(scaled 3)))"
)
steps+=("10 build-soak: make soak SOAK_SECONDS=1")
for tier in core forged store copies seeds world relay cloudkit rawsql damage value shred assets; do
  steps+=("$(scaled 2) soak-$tier: make soak SOAK_SECONDS=$(($(scaled 2) * 60)) FLAGS='--tier $tier --first $first'")
done
# Of these so many, however long it takes: TIER COUNT MINUTES.
for tier in "counters 20000 25" "extrema 20000 12" "order 20000 22" "unique 20000 40" "merge 20000 60" "lens 5000 20"; do
  read -r tier count minutes <<<"$tier"
  steps+=("$(scaled "$minutes") soak-$tier: make soak SOAK_SECONDS=100000 FLAGS='--tier $tier --first $first --count $(scaled "$count")'")
done
steps+=(
  "$(scaled 10) relay: TALLY_EFFORT=$((1 + $(scaled 2))) make test-relay BUILT=1"
  "12 container: make container"
  "$(scaled 5) second-opinion: make second-opinion SECONDS=$(($(scaled 5) * 60))"
  "$((8 + $(scaled 4))) fuzz: make fuzz SECONDS=$(($(scaled 4) * 60))"
  "$(scaled 12) models: make models MODELS=$(($(scaled 5) * 100))"
  "$((5 + $(scaled 4))) space-sets: make space-sets TRAITS=all SETS=$(scaled 2500) FIRST=$((first % 900000000))"
  "20 sanitize-thread: bash Scripts/sanitize.sh thread"
  "20 sanitize-address: bash Scripts/sanitize.sh address"
  "12 coverage: make coverage"
)

todo=() minutes=0 known=0
echo "make long, on sources $key:"
for step in "${steps[@]}"; do
  read -r length rest <<<"$step"
  name=${rest%%: *}
  [[ $name =~ $chosen ]] || continue
  # The same command: with other HOURS, or on another day, it is another one. A build may be gone.
  if [[ $name != build* ]] && [ -s "$steps_folder/$name.ended" ] && [ "$(cut -d' ' -f1 "$steps_folder/$name.ended")" = 0 ] &&
    [ "$(cat "$steps_folder/$name.command" 2>/dev/null)" = "$rest" ]; then
    known=$((known + 1))
    printf '  %-18s passed before, in %s s\n' "$name" "$(cut -d' ' -f2 "$steps_folder/$name.ended")"
    continue
  fi
  printf '  %-18s about %3d min  %s\n' "$name" "$length" "${rest#*: }"
  echo "$rest" >"$steps_folder/$name.command"
  rm -f "$steps_folder/$name.ended"
  todo+=("$rest")
  minutes=$((minutes + length))
done
if [ "$minutes" -eq 0 ]; then
  [ "$known" -gt 0 ] || { echo "no step is called so" >&2; exit 64; }
  echo "All of it passed before."
  exit 0
fi
echo "About $minutes minutes on two cores, builds included. What they print is in $steps_folder; call it again to go on where it was ended."

failed=()
for step in ${todo[@]+"${todo[@]}"}; do
  run_steps 1 "${step%%: *}$behind: ${step#*: }" || failed+=("${step%%: *}")
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
