#!/usr/bin/env bash
# Swift 6.3.1 (swift.org) on Linux, swiftc -sanitize=thread. ThreadSanitizer reports what a Synchronization.Mutex protects as a race as soon
# as two threads meet at the lock: waiting and waking happen in libswiftSynchronization, which is not instrumented. The sum is right.
# Needs that toolchain, and two processors: a lock at which nobody waits is taken in instrumented code, and nothing is reported.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
swiftc --version 2>&1 | grep -F 'Swift version 6.3.1'
cat >"$folder/main.swift" <<'SWIFT'
import Dispatch
import Synchronization

final class Box: Sendable { let sum = Mutex(0) }
let box = Box()
DispatchQueue.concurrentPerform(iterations: 4) { _ in
  for _ in 0..<20_000 { box.sum.withLock { $0 += 1 } }
}
print("the sum is", box.sum.withLock { $0 })
SWIFT
swiftc -sanitize=thread "$folder/main.swift" -o "$folder/main" 2>/dev/null
TSAN_OPTIONS=exitcode=0 "$folder/main" >"$folder/out" 2>"$folder/reports"
cat "$folder/out"
echo "reports of races: $(grep -c '^WARNING: ThreadSanitizer' "$folder/reports" || true)"
grep -q '^the sum is 80000$' "$folder/out" && grep -q '^WARNING: ThreadSanitizer' "$folder/reports" ||
  { echo "the behaviour has changed" >&2; exit 1; }
