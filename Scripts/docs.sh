#!/usr/bin/env bash
# The documentation of `import Tally` as a site: Scripts/docs.sh [FOLDER], .build/docs unless said. Any warning is an error.
#
# It needs docc, which comes with Swift's toolchains, python3, and a debug build. DocC's plugin for SwiftPM would be a
# dependency of whoever uses Tally, and could not show what one module re-exports of others; so the symbol graphs are
# put together here. The pages link each other as files, so that they can be read in the repository; here they become
# links of DocC's.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-.build/docs}
for tool in docc python3; do
  command -v $tool >/dev/null || { echo "The documentation was left out: there is no $tool."; exit 0; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=Scripts/symbol-graphs.sh
source Scripts/symbol-graphs.sh
symbol_graphs "$work/graphs" TallyCRDT TallyStore TallySync TallyImport
python3 Scripts/docs.py "$work/graphs" "$work/Tally.symbolgraphs" Sources/Tally "$work/Tally.docc"
rm -rf "$out"
# Overloads are one page each, so that a link to read(_:) needs no hash of a signature.
docc convert "$work/Tally.docc" --fallback-display-name Tally --fallback-bundle-identifier tally \
  --additional-symbol-graph-dir "$work/Tally.symbolgraphs" --transform-for-static-hosting --warnings-as-errors \
  --enable-experimental-overloaded-symbol-presentation --output-path "$out"
echo "The documentation is in $out; serve it with: python3 -m http.server -d $out, at /documentation/tally"
