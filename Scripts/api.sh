#!/usr/bin/env bash
# Lists the public API in Docs/API/MODULE.txt, a line for each declaration: `Scripts/api.sh` regenerates the files,
# `Scripts/api.sh --check` fails if they do not match the code. So a reviewer sees every change of the public API.
# Reads the modules of a debug build. Needs Python; without it, the script prints a message and passes.
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
symbol_graphs "$graphs" TallyCRDT TallyWire TallySchema TallyStore TallyAssets TallyRecovery TallySync TallyImport TallyRelay TallyTesting TallyCloudKit
python3 Scripts/api.py "$graphs" Docs/API "$@"
