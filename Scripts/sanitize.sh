#!/usr/bin/env bash
# Runs tests under a sanitizer, in a build folder of its own.
#   Scripts/sanitize.sh thread    data races: sync, transports, stores in concurrent use
#   Scripts/sanitize.sh address   memory: the wire, the core, the store, the kept inputs of the fuzzers
set -euo pipefail
cd "$(dirname "$0")/.."
export SWIFT_BACKTRACE=enable=no
case "${1:-}" in
  thread) filter='TallySyncTests|TransportTests|OutsideWriteTests|IdentityTests|AppTests' ;;
  address) filter='TallyWireTests|TallyCRDTTests|TallyStoreTests|CorpusTests' ;;
  *)
    echo "usage: sanitize.sh thread | address" >&2
    exit 64
    ;;
esac
# One test at a time: everything is several times slower, and tests have limits. Without the leak check: GRDB and the runtime keep what lives as long as the process.
export TSAN_OPTIONS=halt_on_error=0:exitcode=66 ASAN_OPTIONS=detect_leaks=0
# Where it meets contended locks the sanitizer has to be told what it does not see: Scripts/tsan-mutex.c.
preload=
if [ "$1" = thread ] && [ "$(uname -s)" = Linux ]; then
  mkdir -p .build-thread
  preload=$PWD/.build-thread/tsan-mutex.so
  "$(dirname "$(readlink -f "$(command -v swiftc)")")/clang" -shared -fPIC -O1 Scripts/tsan-mutex.c -o "$preload" -ldl
fi
build=(--traits PlantedFaults --sanitize="$1" --scratch-path ".build-$1" -Xswiftc -use-ld=lld)
swift build "${build[@]}" --build-tests
LD_PRELOAD=$preload swift test "${build[@]}" --skip-build --enable-swift-testing --disable-xctest --no-parallel --filter "$filter"
