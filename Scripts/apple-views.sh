#!/usr/bin/env bash
# Typechecks the views, which only Apple's systems compile, against the stub of SwiftUI in Tests/Stubs and the modules of a
# debug build (BUILD, or .build). It cannot check previews, whose macro is Xcode's, or whether a view looks right.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-.build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
maps=(-I Sources/CTallySQLite/include -I Sources/CTallySystem/include)
for map in "$build/checkouts/GRDB.swift/Sources/GRDBSQLite" "$build"/debug/CTally{SQLite,System}.build Sources/CZstd; do
  maps+=(-Xcc "-fmodule-map-file=$map/module.modulemap")
done
options=(-swift-version 6 -package-name main -wmo -I "$build/debug/Modules" -I "$work" "${maps[@]}")
swiftc -swift-version 6 -wmo -parse-as-library -emit-module -module-name SwiftUI -emit-module-path "$work/SwiftUI.swiftmodule" \
  Tests/Stubs/SwiftUI/*.swift
swiftc "${options[@]}" -warnings-as-errors -typecheck -module-name TallySwiftUI Sources/TallySwiftUI/*.swift
# An example's program: its view with what it shows.
sed '/^  #Preview {/,/^  }/d' Examples/Pantry/Views/ListView.swift >"$work/ListView.swift"
swiftc "${options[@]}" -typecheck -parse-as-library -module-name Pantry "$work/ListView.swift" Examples/Pantry/App/*.swift
echo "The views compile against the stubs."
