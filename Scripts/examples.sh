#!/usr/bin/env bash
# Builds and runs every example; each exits with an error if its replicas differ. TESTING has the flags of the build and BUILD its folder,
# both from the Makefile; with BUILT nothing is built.
set -euo pipefail
cd "$(dirname "$0")/.."
output=$(mktemp)
trap 'rm -f "$output"' EXIT
for example in Examples/*/; do
  name=$(basename "$example")
  echo "== $name"
  if [ "$name" = TwoMachines ] && [[ "${TESTING:-}" != *Network* ]]; then
    echo "left out: it needs TRAITS=Network"
    continue
  fi
  # The relay's example is make relay-demo: it needs the server.
  [ "$name" != Relay ] || continue
  # shellcheck disable=SC2086  # several words
  [ -n "${BUILT:-}" ] || SWIFT_DETERMINISTIC_HASHING=1 "${SWIFT:-swift}" build --quiet ${TESTING:-} --product "$name"
  program=${BUILD:-.build}/debug/$name
  # An app of single commands, which a script puts together.
  if [ "$name" = Pantry ]; then
    bash Examples/Pantry/demo.sh "$program" >"$output" 2>&1 || { cat "$output"; exit 1; }
  else
    "$program" >"$output" 2>&1 || { cat "$output"; exit 1; }
  fi
  tail -n 3 "$output"
done
