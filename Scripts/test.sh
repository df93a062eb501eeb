#!/usr/bin/env bash
# Runs tests of an existing build in several parallel processes, so that none waits for another's threads:
#
#   BUILD_FLAGS="--traits PlantedFaults" Scripts/test.sh [NAME:] FLAGS… [-- [NAME:] FLAGS…]…
#
# FLAGS are those of `swift test` that choose tests: --filter, --skip, --no-parallel. Prints failures, and at the end each run's
# result and the ten slowest tests. The output of all runs is in .build/test-logs. TEST_JOBS sets how many run at a time; by
# default all. VERBOSE=1 shows all output at once.
set -uo pipefail
cd "$(dirname "$0")/.."
swift=${SWIFT:-swift}
export SWIFT_BACKTRACE=${SWIFT_BACKTRACE:-enable=no}
# In the gate and in long runs what is freed is overwritten, and none of it kept back: a use after free ends the run, also one inside SQLite, which no
# sanitizer sees. It costs a fifth of the time. PLAIN_MALLOC=1 is for tests that measure a server's own memory and times.
if [ -n "${TALLY_STRICT:-}${TALLY_EFFORT:-}" ] && [ -z "${PLAIN_MALLOC:-}" ]; then export GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.perturb=165; fi
# No pipe or disk is to hold up a test that has something to say.
logs=.build/test-logs
mkdir -p "$logs"

# shellcheck disable=SC2086  # several words
folder=$($swift build ${BUILD_FLAGS:-} --show-bin-path) || exit 1

# The tests of one run. On Linux they are a program; it is called directly, since SwiftPM would let one of several wait for the others.
tests() {
  if [ "$(uname -s)" = Linux ]; then
    "$folder/TallyPackageTests.xctest" --testing-library swift-testing "$@"
  else
    # shellcheck disable=SC2086
    $swift test ${BUILD_FLAGS:-} --skip-build --enable-swift-testing --disable-xctest "$@"
  fi
}

names=() arguments=()
number=0
while [ $# -gt 0 ]; do
  number=$((number + 1))
  name="run-$number"
  case $1 in *:) name=${1%:}; shift ;; esac
  words=()
  while [ $# -gt 0 ] && [ "$1" != -- ]; do
    words+=("$(printf '%q' "$1")")
    shift
  done
  [ $# -eq 0 ] || shift
  names+=("$name")
  arguments+=("${words[*]}")
done

show() {
  if [ -n "${VERBOSE:-}" ]; then cat; else grep --line-buffered -E '^✘|Fatal error|Test run with|TALLY_SEED=' | grep --line-buffered -v '^✘ Suite'; fi
}

# one NAME FLAGS: keeps what it prints, and its status.
one() {
  local log=$logs/$1.log
  eval "tests $2" >"$log" 2>&1
  echo $? >"$logs/$1.status"
}

began=$SECONDS
running=0
runs=()
shown=
end() {
  for job in $(jobs -p) $shown; do
    pkill -TERM -P "$job" 2>/dev/null
    kill "$job" 2>/dev/null
  done
}
trap end EXIT
trap 'exit 130' INT TERM
for index in "${!names[@]}"; do
  : >"$logs/${names[$index]}.log"
  rm -f "$logs/${names[$index]}.status"
  if [ "$running" -ge "${TEST_JOBS:-99}" ]; then wait -n; else running=$((running + 1)); fi
  one "${names[$index]}" "${arguments[$index]}" &
  runs+=($!)
done
files=("${names[@]/#/$logs/}")
files=("${files[@]/%/.log}")
# What fails is shown while the others still run.
(
  trap 'kill $(jobs -p) 2>/dev/null' EXIT
  for file in "${files[@]}"; do tail -n +1 -F "$file" 2>/dev/null | show & done
  wait
) &
shown=$!
under_way() {
  local run
  for run in "${runs[@]}"; do if kill -0 "$run" 2>/dev/null; then return 0; fi; done
  return 1
}
while under_way; do
  sleep 1
  if [ $(((SECONDS - began) % 30)) -eq 0 ]; then
    echo "… $(cat "${files[@]}" | grep -cE '^✔ Test .* passed after') tests passed after $((SECONDS - began)) seconds"
  fi
done
sleep 0.5
kill "$shown" 2>/dev/null
wait "$shown" 2>/dev/null

status=0
for index in "${!names[@]}"; do
  name=${names[$index]}
  code=$(cat "$logs/$name.status" 2>/dev/null || echo unknown)
  # Whatever its status: without its last line, or without a test, it has not passed.
  if [ "$code" = 0 ] && grep -qE 'Test run with [1-9][0-9]* tests? .*passed after' "$logs/$name.log"; then continue; fi
  status=1
  echo "Failed, with status $code: $name (${arguments[$index]}); all that it printed is in $logs/$name.log"
  grep -A 12 -E '^✘ Test .* recorded an issue|Fatal error|unexpected signal' "$logs/$name.log" | grep -vE '^(◇|✔)' | head -150
  # A program that ended without its last line: what was under way?
  if ! grep -qE 'Test run with .* (passed|failed) after' "$logs/$name.log"; then
    echo "It ended while these ran:"
    awk '/^◇ Test .* started\./ { sub(/^◇ Test /, ""); sub(/ started\.$/, ""); open[$0] = 1 }
      /^[✔✘] Test .* (passed|failed) after/ { sub(/^[✔✘] Test /, ""); sub(/( with [0-9]+ test cases?)? (passed|failed) after.*/, ""); delete open[$0] }
      END { for (name in open) print "  " name }' "$logs/$name.log" | head -20
  fi
done
echo "The slowest tests, in seconds; none of a short run is to take more than five on an idle machine:"
cat "${files[@]}" | sed -nE 's/^[✔✘] Test ([^r].*|r[^u].*) (passed|failed) after ([0-9.]+) seconds.*/\3 \1/p' | sort -rn | head -10 |
  awk '{ seconds = $1; $1 = ""; printf "%8.1f %s\n", seconds, $0 }'
# The end is what is always kept of a log.
for index in "${!names[@]}"; do
  echo "${names[$index]}: $(grep -hE 'Test run with .* (passed|failed) after' "$logs/${names[$index]}.log" || echo "ended without a result")"
done
if [ "$status" -ne 0 ]; then
  cat "${files[@]}" | grep -E '^✘ Test .* recorded an issue|Fatal error|unexpected signal' | cut -c 1-240 | tail -5
fi
exit "$status"
