#!/usr/bin/env bash
# A phone and a tablet edit one list apart from each other and meet, as processes that talk over pipes.
# Usage: demo.sh PROGRAM, which is .build/debug/Pantry after a build.
set -euo pipefail
program=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

pantry() {
  echo "\$ Pantry $*"
  "$program" "$@"
}
meet() {
  echo "\$ Pantry phone.tally sync 'Pantry tablet.tally serve'"
  "$program" phone.tally sync "'$program' tablet.tally serve"
}

pantry phone.tally add Milk 2 due=2030-01-05 tag=dairy
pantry phone.tally add Bread tag=bakery
meet
echo; echo "Apart from each other, both rename the milk, and each changes something else besides:"
pantry phone.tally rename Milk "Oat milk"
pantry phone.tally buy Bread
pantry tablet.tally rename Milk "Soy milk"
pantry tablet.tally add Apples 6 tag=vegetables
meet
echo; echo "The later title has won on both, and the other is not lost:"
pantry phone.tally list
pantry phone.tally conflicts
pantry phone.tally take 1
meet
pantry tablet.tally list milk
diff <("$program" phone.tally list) <("$program" tablet.tally list) && echo "Both lists are equal."
