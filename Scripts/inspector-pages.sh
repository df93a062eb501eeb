#!/usr/bin/env bash
# Tests the inspector's pages in a real browser; with --pictures FOLDER it only makes the pictures of Docs/Inspector.md.
#   Scripts/inspector-pages.sh TOOL [TEST… | --pictures FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."
tool=${1:?which tool}
shift
if ! command -v python3 >/dev/null; then
  echo "inspector: the pages are not tested; there is no python3"
  exit 0
fi
for name in chromium chromium-browser google-chrome none; do command -v "$name" >/dev/null && break; done
if [ "$name" = none ]; then
  echo "inspector: the pages are not tested; there is no Chromium"
  exit 0
fi
exec python3 -B Tests/InspectorTests/Browser/inspector_test.py "$tool" "$@"
