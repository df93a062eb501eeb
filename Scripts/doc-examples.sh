#!/usr/bin/env bash
# The Swift examples of documentation comments and pages, as a file that is compiled with the tests.
#   Scripts/doc-examples.sh           writes Tests/DocExamples/DocExamples.swift
#   Scripts/doc-examples.sh --check   fails if it is not what the examples say
#
# Each block becomes the body of a function, or of a type if it declares something; Tests/DocExamples/DocContext.swift has what
# examples take for granted. A block that is compiled elsewhere, or is no Swift of ours, says so in the line above it:
#   <!-- not compiled here: why -->
set -euo pipefail
cd "$(dirname "$0")/.."
out=Tests/DocExamples/DocExamples.swift
made=$(mktemp)
trap 'rm -f "$made"' EXIT

{
  echo "// swift-format-ignore-file"
  echo "// Made by Scripts/doc-examples.sh from the examples of pages and documentation comments. Compiled, not run."
  echo
  echo "import Foundation"
  echo "import Tally"
  echo "import TallyStore"
  echo "import TallySync"
  echo "import TallyRelay"
  echo "import TallyTesting"
  echo "import Testing"
  echo
  echo "#if Macros"
  echo "  import TallyMacros"
  echo "#endif"
  echo "#if Network"
  echo "  import TallyNetwork"
  echo "#endif"
  # shellcheck disable=SC2046  # paths without spaces
  awk '
    function flush(   kind, i, name, effects, used, words, size) {
      name = FILENAME
      gsub(/[^A-Za-z0-9]/, "_", name)
      name = name "_" ++count[FILENAME]
      kind = "func"
      effects = "throws"
      trait = network ? "Network" : FILENAME ~ /TallyMacros/ ? "Macros" : ""
      for (i = 1; i <= n; i++) if (lines[i] ~ /@(Entity|Field|Members)/) trait = "Macros"
      for (i = 1; i <= n; i++) if (lines[i] ~ /(^|[^A-Za-z])await /) effects = "async throws"
      for (i = 1; i <= n; i++) {
        if (lines[i] ~ /^(@Test|@Suite|@MainActor |@Entity|static |struct |final class |class |enum |func |extension )/) kind = lines[i] ~ /^extension / ? "file" : "enum"
        if (lines[i] !~ /^ *$/ && lines[i] !~ /^import /) break
      }
      print trait ? "\n#if " trait : ""
      print "// " FILENAME
      if (kind == "enum") print "private enum " name " {"
      if (kind == "func") print "private func " name "() " effects " {"
      used = ""
      for (i = 1; i <= n; i++) {
        if (lines[i] ~ /^import /) continue
        # What an example makes and does not use is no mistake.
        if (kind == "func" && lines[i] ~ /^(let|var) [A-Za-z]+ =/) {
          split(lines[i], words, " ")
          if (used !~ " " words[2] " ") used = used " " words[2] " "
        }
        sub(/^@(Test|Suite)(\([^)]*\))? ?/, "", lines[i])
        sub(/^  @Test /, "  ", lines[i])
        print lines[i]
      }
      size = split(used, words, " ")
      for (i = 1; i <= size; i++) print "_ = " words[i]
      if (kind != "file") print "}"
      if (trait) print "#endif"
    }
    FNR == 1 { on = 0; skip = 0 }
    /<!-- not compiled here: / { skip = FNR; next }
    /^ *(\/\/\/ )?```swift *$/ {
      if (skip && skip == FNR - 1) { next }
      on = 1; n = 0; start = FNR; network = FILENAME ~ /TallyNetwork/ || FILENAME ~ /SyncEngine/
      next
    }
    on && /^ *(\/\/\/ ?)?```/ { on = 0; flush(); next }
    on { line = $0; sub(/^ *\/\/\/ ?/, "", line); lines[++n] = line }
  ' README.md Docs/*.md Examples/*/README.md $(git ls-files 'Sources/*.swift')
} >"$made"

if [ "${1:-}" = --check ]; then
  cmp -s "$made" "$out" || { echo "examples have changed: run Scripts/doc-examples.sh" >&2; exit 1; }
else
  cp "$made" "$out"
fi
