#!/usr/bin/env bash
# Builds and runs every example; each exits with an error if its replicas differ.
set -euo pipefail
cd "$(dirname "$0")/.."
for example in Examples/*/; do
  name=$(basename "$example")
  echo "== $name"
  if [ "$name" = TwoMachines ] && [[ "${TESTING:-}" != *Network* ]]; then
    echo "left out: it needs TRAITS=Network"
    continue
  fi
  # The relay's example is make relay-demo: it needs the server.
  [ "$name" != Relay ] || continue
  # An app of single commands, which a script puts together.
  if [ "$name" = Pantry ]; then
    # shellcheck disable=SC2086  # several words
    swift build --quiet ${TESTING:-} --product Pantry
    bash Examples/Pantry/demo.sh .build/debug/Pantry | tail -n 3
    continue
  fi
  # shellcheck disable=SC2086  # several words
  swift run --quiet ${TESTING:-} "$name" >"/tmp/tally-example-$$.txt" || { cat "/tmp/tally-example-$$.txt"; exit 1; }
  tail -n 3 "/tmp/tally-example-$$.txt"
  rm -f "/tmp/tally-example-$$.txt"
done
