#!/usr/bin/env bash
# Builds the documentation as a site: Scripts/docs.sh [FOLDER], by default .build/docs. Any warning is an error, and so is a
# broken link.
#
# The site has the pages about `import Tally`, those of Docs, and the reference of every module. BASE=NAME is for a site that
# is not at the root of its host: https://HOST/NAME/. The script needs docc, which comes with Swift's toolchains, python3, and
# a debug build; with a build without traits, the modules that are then empty are left out. DocC's plugin for SwiftPM would be
# a dependency of every app that uses Tally, and could not show what one module re-exports from others; so this script
# combines the symbol graphs itself.
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
face="TallyCRDT TallySchema TallyStore TallyAssets TallyRecovery TallySync TallyImport"
# shellcheck disable=SC2086
symbol_graphs "$work/face" $face

# Overloads are one page each, so that a link to read(_:) needs no hash of a signature.
convert() {
  local name=$1
  shift
  docc convert "$work/$name.docc" --fallback-display-name "$name" --fallback-bundle-identifier "$name" \
    --additional-symbol-graph-dir "$work/$name.symbolgraphs" --transform-for-static-hosting --hosting-base-path "${BASE:-/}" \
    --warnings-as-errors --enable-experimental-overloaded-symbol-presentation --enable-experimental-external-link-support \
    --output-path "$work/$name.doccarchive" "$@"
}

modules=() archives=() missing=() dependencies=()
for module in TallyAssets TallyCRDT TallyCloudKit TallyImport TallyInspector TallyMacros TallyNetwork TallyRecovery TallyRelay TallyRelayServer TallySchema \
  TallyStore TallySync TallyTesting TallyWire; do
  if ! EXTENSIONS=1 symbol_graphs "$work/$module" "$module" 2>"$work/errors"; then
    # One whose headers or whose build are not here.
    grep -q 'missing required module\|no such module\|could not build C module\|Couldn.t load module' "$work/errors" \
      || { cat "$work/errors"; exit 1; }
    missing+=("$module")
    continue
  fi
  if ! grep -q '"precise"' "$work/$module/$module.symbols.json"; then
    missing+=("$module")
    continue
  fi
  python3 Scripts/docs.py module "$work/$module" "$work/$module.symbolgraphs"
  mkdir "$work/$module.docc"
  convert "$module"
  modules+=("$module")
  archives+=("$work/$module.doccarchive")
  dependencies+=(--dependency "$work/$module.doccarchive")
done
python3 Scripts/docs.py tally "$work/face" "$work/Tally.symbolgraphs" "$work/Tally.docc" "${modules[@]}"
convert Tally "${dependencies[@]}"
rm -rf "$out"
mkdir -p "$(dirname "$out")"
docc merge "$work/Tally.doccarchive" "${archives[@]}" --synthesized-landing-page-name Tally --output-path "$out"
python3 Scripts/docs_site.py "$out"
[ -n "${BASE:-}" ] || python3 Scripts/docs_browser.py "$out"
if [ ${#missing[@]} -gt 0 ]; then
  echo "Left out, since this build does not have them: ${missing[*]}. \`make docs\` has all."
fi
echo "The documentation is in $out; serve it with: python3 -m http.server -d $out"
