#!/usr/bin/env bash
# Runs the second opinion: Docs/Fuzzing.md. TOOL is a tally that is already built; without it the script makes a release
# build, with the faults that --planted enables.
#   Scripts/second-opinion.sh SECONDS [--seed N] [--steps N] [--planted N] [--no-shrinking]
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v python3 >/dev/null; then
  echo "second opinion: left out; there is no python3"
  exit 0
fi
if ! python3 -c 'import hypothesis' 2>/dev/null; then
  echo "second opinion: left out; python3 has no hypothesis (pip install hypothesis)"
  exit 0
fi
if [ -z "${TOOL:-}" ]; then
  swift build --traits PlantedFaults -c release --scratch-path .build-second-opinion --product tally
  TOOL=.build-second-opinion/release/tally
fi
seconds=${1:-60}
shift || true
exec python3 -B Tests/SecondOpinion/second_opinion.py --tool "$TOOL" --seconds "$seconds" "$@"
