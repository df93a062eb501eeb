#!/usr/bin/env bash
# Reports which lines the tests run. COVERAGE_FILTER limits the tests; the report covers the modules that decide.
set -euo pipefail
cd "$(dirname "$0")/.."
export SWIFT_BACKTRACE=enable=no
build=(--traits PlantedFaults --enable-code-coverage --scratch-path .build-coverage)
swift build "${build[@]}" --build-tests
swift test "${build[@]}" --skip-build --enable-swift-testing --disable-xctest --filter "${COVERAGE_FILTER:-Tests}" >.build-coverage/tests.log 2>&1 ||
  { tail -n 40 .build-coverage/tests.log; exit 1; }
tools=$(dirname "$(readlink -f "$(command -v swiftc)")")
profile=.build-coverage/debug/codecov/default.profdata
binary=$(ls .build-coverage/debug/*PackageTests.xctest | head -n 1)
status=0
for module in TallyCRDT TallyWire TallyAssets TallySync TallySchema TallyStore TallyRecovery TallyImport TallyInspection; do
  total=$("$tools/llvm-cov" report "$binary" -instr-profile "$profile" "Sources/$module" 2>/dev/null |
    awk '$1 == "TOTAL" { print $10 }')
  echo "$module: $total of lines"
  case "$module" in
    TallySchema | TallyStore | TallyRecovery | TallyImport | TallyInspection) ;;
    *) awk -v have="${total%\%}" 'BEGIN { exit have < 95 }' || { echo "$module: 95 % is the least" >&2; status=1; } ;;
  esac
done
# llvm-cov show -instr-profile … FILE shows which lines; this lists files with more than a few that no test runs.
"$tools/llvm-cov" report "$binary" -instr-profile "$profile" Sources/TallyCRDT Sources/TallyWire Sources/TallyAssets Sources/TallySync \
  2>/dev/null | awk '$9 > 3 && $1 ~ /swift$/ { print "  " $1 ": " $9 " lines without a test" }'
exit $status
