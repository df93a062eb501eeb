#!/usr/bin/env bash
# The Swift examples of documentation comments and pages, as a file that is compiled with the tests.
#   Scripts/doc-examples.sh           writes Tests/DocExamples/{DocExamples,PageExamples,StoreExamples,CommentExamples}.swift
#   Scripts/doc-examples.sh --check   fails if it is not what the examples say
#
# Each block becomes the body of a function, or of a type if it declares something; Tests/DocExamples/DocContext.swift has what
# examples take for granted. A block that is compiled elsewhere, or is no Swift of ours, says so in the line above it:
#   <!-- not compiled here: why -->
# Or it is quoted from a file that is compiled, which ReadmeTests compares:
#   <!-- quoted from PATH -->
set -euo pipefail
cd "$(dirname "$0")/.."
made=$(mktemp)
trap 'rm -f "$made"' EXIT

# The examples of the given files.
examples() {
  echo "// swift-format-ignore-file"
  echo "// Made by Scripts/doc-examples.sh from the examples of pages and documentation comments. Compiled, not run."
  echo
  echo "import Foundation"
  echo "import Observation"
  echo "import Tally"
  echo "import TallyStore"
  echo "import TallySync"
  echo "import TallyRelay"
  echo "import TallyTesting"
  echo "import Testing"
  echo
  echo "@testable import Pantry"
  echo "@testable import struct Pantry.Tag"
  echo
  echo "#if Macros"
  echo "  import TallyMacros"
  echo "#endif"
  echo "#if Inspector"
  echo "  import TallyInspector"
  echo "#endif"
  echo "#if Network"
  echo "  import TallyNetwork"
  echo "#endif"
  awk '
    function flush(   kind, i, name, effects, used, words, size) {
      name = FILENAME
      gsub(/[^A-Za-z0-9]/, "_", name)
      name = name "_" ++count[FILENAME]
      kind = "func"
      effects = "throws"
      for (i = 1; i <= n; i++) if (lines[i] ~ /TCPTransport|TCPListener|SharedSecret|TLSSettings/) network = 1
      trait = network ? "Network" : FILENAME ~ /TallyMacros/ ? "Macros" : ""
      for (i = 1; i <= n; i++) if (lines[i] ~ /@(Entity|Field|Members)/) trait = "Macros"
      for (i = 1; i <= n; i++) if (lines[i] ~ /Inspector\(/) trait = "Inspector"
      for (i = 1; i <= n; i++) if (lines[i] ~ /(^|[^A-Za-z])await /) effects = "async throws"
      for (i = 1; i <= n; i++) {
        if (lines[i] ~ /^(@Test|@Suite|@main |@MainActor |@Entity|static |struct |final class |class |enum |func |extension )/) kind = lines[i] ~ /^extension / ? "file" : "enum"
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
        sub(/^@main /, "", lines[i])
        print lines[i]
      }
      size = split(used, words, " ")
      for (i = 1; i <= size; i++) print "_ = " words[i]
      if (kind != "file") print "}"
      if (trait) print "#endif"
    }
    FNR == 1 { on = 0; skip = 0 }
    /<!-- not compiled here: |<!-- quoted from / { skip = FNR; next }
    /^ *(\/\/\/ )?```swift *$/ {
      if (skip && skip == FNR - 1) { next }
      on = 1; n = 0; start = FNR; network = FILENAME ~ /TallyNetwork/
      next
    }
    on && /^ *(\/\/\/ ?)?```/ { on = 0; flush(); next }
    on { line = $0; sub(/^ *\/\/\/ ?/, "", line); lines[++n] = line }
  ' "$@"
}

# write NAME FILE…: one file of examples, or the comparison with it.
write() {
  local out=Tests/DocExamples/$1.swift
  shift
  examples "$@" >"$made"
  if [ "$mode" = --check ]; then
    cmp -s "$made" "$out" || { echo "examples have changed: run Scripts/doc-examples.sh" >&2; exit 1; }
  else
    cp "$made" "$out"
  fi
}

mode=${1:-}
write DocExamples README.md Docs/*.md Examples/*/README.md
write PageExamples Sources/Tally/Tally.docc/*.md
# shellcheck disable=SC2046  # paths without spaces
write StoreExamples $(git ls-files 'Sources/TallyStore/*.swift')
# shellcheck disable=SC2046  # paths without spaces
write CommentExamples $(git ls-files 'Sources/*.swift' ':!Sources/TallyStore')
