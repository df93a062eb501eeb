#!/usr/bin/env bash
# Faults that tests plant must not leave the house: fails if the tool has a symbol or a string of them.
#   Scripts/release-symbols.sh TOOL
set -euo pipefail
tool=${1:?which tool}
symbols=$(mktemp)
trap 'rm -f "$symbols"' EXIT
nm "$tool" >"$symbols"
# Of a stripped or foreign file nothing would be found.
grep -q TallyStore "$symbols" || { echo "$tool has no symbols to look at" >&2; exit 1; }
strings -a -n 6 "$tool" >>"$symbols"
if grep -iE 'planted|TallyFaults|TALLY_CAPTURE' "$symbols" | sort -u | head -n 20 | grep .; then
  echo "$tool was built with the faults that tests plant" >&2
  exit 1
fi
echo "$tool: $(wc -l <"$symbols") symbols and strings, none of planted faults"
