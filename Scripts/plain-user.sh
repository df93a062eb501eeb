#!/usr/bin/env bash
# Checks that an app which depends on Tally without traits resolves nothing that only a trait needs, such as swift-syntax
# (Docs/Decisions/0010, 0023).
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/Sources/Plain"
echo 'import Tally' >"$folder/Sources/Plain/Plain.swift"
cat >"$folder/Package.swift" <<END
// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "Plain",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Tally", path: "$PWD")],
  targets: [.target(name: "Plain", dependencies: [.product(name: "Tally", package: "Tally")])])
END
"${SWIFT:-swift}" package --package-path "$folder" resolve >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
found=$(sed -n 's/.*"identity" : "\(.*\)".*/\1/p' "$folder/Package.resolved" | sort | tr '\n' ' ')
# On Apple platforms zstd is a package.
expected="grdb.swift swift-argument-parser swift-log swift-metrics "
if [ "$(uname -s)" = Darwin ]; then expected+="zstd "; fi
if [ "$found" != "$expected" ]; then
  echo "a plain user of Tally resolves $found, and should resolve $expected" >&2
  exit 1
fi
echo "A plain user resolves $found"
