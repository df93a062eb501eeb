#!/usr/bin/env bash
# Faults that tests plant must not be released: fails if the tool has a symbol or a string of them.
#   Scripts/release-symbols.sh TOOL
set -euo pipefail
tool=${1:?which tool}
found=$(mktemp)
bare=$(mktemp)
trap 'rm -f "$found" "$bare"' EXIT
nm "$tool" >"$found"
# Of a stripped or foreign file nothing would be found.
grep -q TallyStore "$found" || { echo "$tool has no symbols to look at" >&2; exit 1; }
# Debug information holds the paths of this machine, under any name.
strip -g -o "$bare" "$tool"
strings -a -n 6 "$bare" | sed "s|$PWD||g" >>"$found"
if grep -iE 'planted|TallyFaults|TALLY_CAPTURE' "$found" | sort -u | sed -n 1,20p | grep .; then
  echo "$tool was built with the faults that tests plant" >&2
  exit 1
fi
echo "$tool: $(wc -l <"$found") symbols and strings, none of planted faults"
