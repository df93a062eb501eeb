#!/usr/bin/env bash
# For other scripts: symbol_graphs FOLDER MODULE… writes the symbol graphs of modules of a debug build, whose folder is
# BUILD or .build. EXTENSIONS=1: with what a module adds to types of others.
symbol_graphs() {
  local folder=$1 build=${BUILD:-.build} target module map
  shift
  target=$(swift -print-target-info | python3 -c 'import json, sys; print(json.load(sys.stdin)["target"]["unversionedTriple"])')
  mkdir -p "$folder"
  # The C modules of dependencies, of which a build with all traits has many.
  local maps=()
  while IFS= read -r map; do maps+=(-I "$(dirname "$map")"); done \
    < <(find "$build/checkouts/" -maxdepth 6 -path '*/Sources/*' -name module.modulemap
      find "$build/debug/" -maxdepth 2 -name module.modulemap -not -path '*-tool.build/*')
  # Where PostgreSQL's headers are, for the relay's server.
  local flag
  for flag in $(pkg-config --cflags-only-I libpq 2>/dev/null); do maps+=("$flag"); done
  for module in "$@"; do
    swift symbolgraph-extract -module-name "$module" -I "$build/debug/Modules" -I Sources/CZstd -I Sources/CLibPQ "${maps[@]}" -target "$target" \
      -minimum-access-level public -skip-inherited-docs -skip-synthesized-members \
      ${EXTENSIONS:+-emit-extension-block-symbols} -output-dir "$folder" >/dev/null
  done
}
