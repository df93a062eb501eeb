#!/usr/bin/env bash
# Stores of an older build of the tool and of this one exchange in every order: nothing is lost, and what the older one does not know it
# refuses. The older build is the last that read deltas of version 2 only; it is built once, from this repository's history, and kept in
# .build-old. Where the history lacks it, as in a shallow clone, the script prints a message and passes.
#
#   TOOL=FILE      a tally that is already built; otherwise make build-release's is brought up to date
#   SEED=7         of the random histories; it is printed
#   HISTORIES=20   how many of them
#   ONLY=order     only histories whose names begin so
set -euo pipefail
cd "$(dirname "$0")/.."
# The commit before a89ae0e9, which added file format 7, deltas of version 3 and version 5 of the sync protocol.
old=f1865013cf4b4104fbe95637cb410639d66455d9
folder=.build-old/${old:0:12}
if ! git cat-file -e "$old^{commit}" 2>/dev/null; then
  echo "old builds: left out; the history that is here does not have commit $old"
  exit 0
fi
if ! python3 -c 'import sqlite3, sys; sys.exit(sqlite3.sqlite_version_info < (3, 37) or sys.version_info < (3, 10))' 2>/dev/null; then
  echo "old builds: left out; it needs python3 3.10 with SQLite 3.37"
  exit 0
fi
# An app's builds, as far as both packages go by it: no tests.
unset TALLY_TESTS TALLY_STRICT
swift=${SWIFT:-swift}
# The sources are complete if they are there under their name.
if [ ! -d "$folder" ]; then
  rm -rf "$folder.part"
  mkdir -p "$folder.part"
  git archive "$old" | tar -x -C "$folder.part"
  mv "$folder.part" "$folder"
fi
[ -x "$folder/.build/release/tally" ] || echo "old builds: building the older tool, once. That takes some minutes"
"$swift" build -c release --package-path "$folder" --product tally
if [ -z "${TOOL:-}" ]; then
  SWIFT_DETERMINISTIC_HASHING=1 "$swift" build -c release --scratch-path .build-bench --product tally
  TOOL=.build-bench/release/tally
fi
# In memory where that is possible: it is not about disks, and each write would wait for one.
stores=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
seed=${SEED:-$(($(date +%s) / 86400))}
echo "old builds: seed $seed"
if python3 -B Scripts/old_builds/old_builds.py --old "$folder/.build/release/tally" --new "$TOOL" --folder "$stores" \
  --seed "$seed" --histories "${HISTORIES:-20}" --only "${ONLY:-}"; then
  rm -rf "$stores"
else
  rm -rf .build-old/failed
  mv "$stores" .build-old/failed
  echo "old builds: the stores are in .build-old/failed"
  exit 1
fi
