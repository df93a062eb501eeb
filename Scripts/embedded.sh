#!/usr/bin/env bash
# Compiles the core (TallyCRDT, and TallyWire without streams and zstd) as Embedded Swift, for this machine and for WebAssembly, runs
# the same exercise on each and on an ordinary build, and compares the results. Needs only the toolchain, and node to run wasm.
set -euo pipefail
cd "$(dirname "$0")/.."
out=.build-embedded
optimize=-Onone
mkdir -p "$out"
toolchain=$(dirname "$(dirname "$(readlink -f "$(command -v swiftc)")")")
wire=()
for file in Sources/TallyWire/*.swift; do
  case "$file" in *Zstandard.swift | *DeltaReader.swift | *DeltaWriter.swift) ;; *) wire+=("$file") ;; esac
done

# compile FOLDER MAIN FLAGS…: one object from each of the three modules.
compile() {
  local folder=$out/$1 main=$2
  shift 2
  mkdir -p "$folder"
  local flags=(-wmo "$optimize" -parse-as-library -swift-version 6 -package-name tally -I "$folder" "$@")
  swiftc "${flags[@]}" -module-name TallyCRDT -emit-module -emit-module-path "$folder/TallyCRDT.swiftmodule" \
    -c Sources/TallyCRDT/*.swift -o "$folder/crdt.o"
  swiftc "${flags[@]}" -module-name TallyWire -emit-module -emit-module-path "$folder/TallyWire.swiftmodule" \
    -c "${wire[@]}" -o "$folder/wire.o"
  swiftc "${flags[@]}" -module-name Exercise -c Tests/Embedded/Exercise.swift "$main" -o "$folder/exercise.o"
}

embedded=(-enable-experimental-feature Embedded)
host=$(ls "$toolchain"/lib/swift/embedded/*linux-gnu/libswiftUnicodeDataTables.a 2>/dev/null | grep "$(uname -m)" | head -n 1 || true)
if [ -z "$host" ]; then
  echo "embedded: left out; this toolchain has no Embedded Swift for $(uname -m) Linux"
  exit 0
fi

compile ordinary Tests/Embedded/Native.swift
swiftc "$out"/ordinary/*.o -lm -o "$out/ordinary/exercise"
expected=$("$out/ordinary/exercise")
[ "$expected" != 0 ] || { echo "embedded: the exercise fails in an ordinary build" >&2; exit 1; }

compile native Tests/Embedded/Native.swift "${embedded[@]}"
swiftc "${embedded[@]}" "$out"/native/*.o "$host" -lm -o "$out/native/exercise"
got=$("$out/native/exercise")
[ "$got" = "$expected" ] || { echo "embedded: says $got, an ordinary build says $expected" >&2; exit 1; }
echo "embedded: $expected, $(stat -c %s "$out/native/exercise") bytes"

tables=$toolchain/lib/swift/embedded/wasm32-unknown-none-wasm/libswiftUnicodeDataTables.a
clang=$toolchain/bin/clang
linker=$(command -v wasm-ld || echo "$toolchain/bin/wasm-ld")
if [ ! -e "$tables" ] || [ ! -x "$linker" ] || ! command -v node >/dev/null; then
  echo "wasm: left out; it needs a toolchain with wasm32, wasm-ld and node"
  exit 0
fi
compile wasm Tests/Embedded/WebAssembly.swift "${embedded[@]}" -target wasm32-unknown-none-wasm
"$clang" -target wasm32-unknown-none-wasm -O2 -fno-builtin -nostdlib -c Tests/Embedded/runtime.c -o "$out/wasm/runtime.o"
"$linker" --no-entry --export=exercise --gc-sections -z stack-size=1048576 "$out"/wasm/*.o "$tables" -o "$out/wasm/exercise.wasm"
got=$(node -e '
  const module = new WebAssembly.Module(require("fs").readFileSync(process.argv[1]));
  const instance = new WebAssembly.Instance(module, {});
  console.log(BigInt.asUintN(64, instance.exports.exercise()).toString());' "$out/wasm/exercise.wasm")
[ "$got" = "$expected" ] || { echo "wasm: says $got, an ordinary build says $expected" >&2; exit 1; }
echo "wasm: $expected, $(stat -c %s "$out/wasm/exercise.wasm") bytes"
