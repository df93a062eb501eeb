#!/usr/bin/env bash
# For other scripts: symbol_graphs FOLDER MODULE… writes the symbol graphs of modules of a debug build, whose folder is
# BUILD or .build.
symbol_graphs() {
  local folder=$1 build=${BUILD:-.build} target module
  shift
  target=$(swift -print-target-info | python3 -c 'import json, sys; print(json.load(sys.stdin)["target"]["unversionedTriple"])')
  mkdir -p "$folder"
  for module in "$@"; do
    swift symbolgraph-extract -module-name "$module" -I "$build/debug/Modules" -I "$build/debug/CTallySQLite.build" \
      -I Sources/CZstd -I "$build/checkouts/GRDB.swift/Sources/GRDBSQLite" -target "$target" \
      -minimum-access-level public -skip-inherited-docs -skip-synthesized-members -output-dir "$folder" >/dev/null
  done
}
