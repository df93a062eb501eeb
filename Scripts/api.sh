#!/usr/bin/env bash
# The public API, a line for each declaration, as Docs/API/MODULE.txt has it: `Scripts/api.sh` regenerates the files,
# `Scripts/api.sh --check` fails if they are not what the code says. So a change of what apps see is seen in review.
# Reads the modules of a debug build. Needs Python; without it, it says so and passes.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v python3 >/dev/null; then
  echo "The listing of the public API was left out: there is no python3."
  exit 0
fi
graphs=$(mktemp -d)
trap 'rm -rf "$graphs"' EXIT
# shellcheck source=Scripts/symbol-graphs.sh
source Scripts/symbol-graphs.sh
symbol_graphs "$graphs" TallyCRDT TallyWire TallySchema TallyStore TallyRecovery TallySync TallyImport TallyRelay TallyTesting TallyCloudKit
python3 Scripts/api.py "$graphs" Docs/API "$@"
