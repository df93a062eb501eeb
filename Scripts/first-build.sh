#!/usr/bin/env bash
# Measures the first build of an app that depends on Tally without traits: processor and wall seconds, starting with resolved packages and
# no build products, for two states of this repository in turn. Docs/Benchmarks.md has the results.
# Usage: Scripts/first-build.sh [--runs N] [BEFORE [AFTER]]; AFTER is HEAD, and BEFORE what `import Tally` was before decision 22.
set -euo pipefail
cd "$(dirname "$0")/.."
swift=${SWIFT:-swift}
runs=2
if [ "${1:-}" = --runs ]; then runs=$2; shift 2; fi
before=$(git rev-parse --verify "${1:-24b7b69}^{commit}")
after=$(git rev-parse --verify "${2:-HEAD}^{commit}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

for state in before after; do
  commit=${!state}
  git clone --quiet --shared --no-checkout . "$folder/$state/Tally"
  git -C "$folder/$state/Tally" checkout --quiet "$commit"
  mkdir -p "$folder/$state/Plain/Sources/Plain"
  cat >"$folder/$state/Plain/Package.swift" <<MANIFEST
// swift-tools-version: 6.1
import PackageDescription

let package = Package(
  name: "Plain",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Tally", path: "../Tally")],
  targets: [.executableTarget(name: "Plain", dependencies: [.product(name: "Tally", package: "Tally")])])
MANIFEST
  printf 'import Tally\n\nprint(Store.self)\n' >"$folder/$state/Plain/Sources/Plain/main.swift"
  "$swift" package --package-path "$folder/$state/Plain" resolve >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
done
# Both with the same versions of what they depend on.
cp "$folder/after/Plain/Package.resolved" "$folder/before/Plain/Package.resolved"
"$swift" package --package-path "$folder/before/Plain" resolve >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }

TIMEFORMAT='%R %U %S'
declare -A wall=([before]=0 [after]=0) cpu=([before]=0 [after]=0)
for ((run = 1; run <= runs; run++)); do
  for state in before after; do
    package="$folder/$state/Plain"
    rm -rf "$package/.build/"{debug,*-*-*,*.yaml,build.db}
    # The package's manifest is compiled and cached apart from the build.
    "$swift" package --package-path "$package" describe >/dev/null 2>"$folder/log" || { cat "$folder/log" >&2; exit 1; }
    took=$({ time "$swift" build --package-path "$package" >"$folder/log" 2>&1; } 2>&1) || { cat "$folder/log" >&2; exit 1; }
    read -r real user system <<<"$took"
    echo "$state ${!state:0:7}, run $run: $real s wall, $(awk "BEGIN { print $user + $system }") s of processor"
    wall[$state]=$(awk "BEGIN { print ${wall[$state]} + $real }")
    cpu[$state]=$(awk "BEGIN { print ${cpu[$state]} + $user + $system }")
  done
done
awk "BEGIN { printf \"after / before: %.3f of processor, %.3f of wall\n\", \
  ${cpu[after]} / ${cpu[before]}, ${wall[after]} / ${wall[before]} }"
