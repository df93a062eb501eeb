#!/usr/bin/env bash
# Collects the Swift examples of documentation comments and pages in files that are compiled with the tests.
#   Scripts/doc-examples.sh           writes Tests/DocExamples/*Examples*.swift: several files, so that none is long
#   Scripts/doc-examples.sh --check   fails if the files do not match the examples
#
# Each block becomes the body of a function, or of a type if it declares something; Tests/DocExamples/DocContext.swift declares
# what examples take for granted. A block that is compiled elsewhere, or is not our Swift, is marked in the line above it:
#   <!-- not compiled here: why -->
# A block can also be quoted from a file that is compiled; ReadmeTests compares the two:
#   <!-- quoted from PATH -->
#
# A reader of the pages in Sources/Tally/Tally.docc imports Tally and the modules that the page names. So their examples are compiled with
# Tally, Foundation, Pantry and what a trait adds; further modules are named by an `import` in the example, or in the line above it:
#   <!-- imports: TallyStore, TallySync -->
# Examples with the same further imports share a file, such as PageExamplesTallySync.swift.
set -euo pipefail
cd "$(dirname "$0")/.."
made=$(mktemp)
trap 'rm -f "$made"' EXIT

# The examples of the given files. In $further: `all` for everything with all modules; or the further modules, separated by spaces, of
# those to print; or `list`, to print only which combinations there are.
examples() {
  [ "$further" = list ] || head_of_file
  examples_of "$@"
}

head_of_file() {
  echo "// swift-format-ignore-file"
  echo "// Made by Scripts/doc-examples.sh from the examples of pages and documentation comments. Compiled, not run."
  echo
  echo "import Foundation"
  echo "import Observation"
  echo "import Tally"
  local module modules=$further
  [ "$further" != all ] || modules="TallyStore TallySync TallyImport TallyRecovery TallyRelay TallyTesting Testing"
  for module in $modules; do echo "import $module"; done
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
  echo "#if canImport(CloudKit)"
  echo "  import CloudKit"
  echo "  import TallyCloudKit"
  echo "#endif"
}

examples_of() {
  awk -v further="$further" '
    # The further modules of a block, in order and each once.
    function modules(   i, j, size, parts, words, text, result, least) {
      text = imports
      for (i = 1; i <= n; i++) if (lines[i] ~ /^import [A-Za-z]+/) { split(lines[i], words, " "); text = text " " words[2] }
      size = split(text, parts, /[ ,]+/)
      result = ""
      for (i = 1; i <= size; i++) {
        least = ""
        for (j = 1; j <= size; j++) if (parts[j] != "" && (least == "" || parts[j] < least)) least = parts[j]
        for (j = 1; j <= size; j++) if (parts[j] == least) parts[j] = ""
        if (least !~ /^(|CloudKit|Foundation|GRDB|Observation|Tally|TallyCloudKit|TallyInspector|TallyMacros|TallyNetwork)$/) {
          result = result (result == "" ? "" : " ") least
        }
      }
      return result
    }
    function flush(   kind, i, name, effects, used, words, size) {
      if (further == "list") { print modules(); return }
      if (further != "all" && modules() != further) { ++count[FILENAME]; return }
      name = FILENAME
      gsub(/[^A-Za-z0-9]/, "_", name)
      name = name "_" ++count[FILENAME]
      kind = "func"
      effects = "throws"
      for (i = 1; i <= n; i++) if (lines[i] ~ /TCPTransport|TCPListener|SharedSecret|TLSSettings/) network = 1
      trait = network ? "Network" : FILENAME ~ /TallyMacros/ ? "Macros" : ""
      for (i = 1; i <= n; i++) if (lines[i] ~ /@(Entity|Field|Members)/) trait = "Macros"
      for (i = 1; i <= n; i++) if (lines[i] ~ /Inspector\(/) trait = "Inspector"
      # Elsewhere it is compiled in the tests, against stubs.
      for (i = 1; i <= n; i++) if (FILENAME ~ /TallyCloudKit|ICloud.md/ || lines[i] ~ /CloudKit/) trait = "canImport(CloudKit)"
      for (i = 1; i <= n; i++) if (lines[i] ~ /(^|[^A-Za-z])await /) effects = "async throws"
      for (i = 1; i <= n; i++) {
        if (lines[i] ~ /^(@Test|@Suite|@main |@MainActor |@Entity|static |struct |final class |class |enum |func |extension )/) kind = lines[i] ~ /^extension / ? "file" : "enum"
        if (lines[i] !~ /^ *$/ && lines[i] !~ /^import /) break
      }
      # What an enum makes beside its cases stands in no type.
      if (kind == "enum" && lines[i] ~ /^enum /) for (i = 1; i <= n; i++) if (lines[i] ~ /^(let|var) [A-Za-z]+ =/) kind = "func"
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
    FNR == 1 { on = 0; skip = 0; importing = 0 }
    /<!-- imports: / { importing = FNR; above = $0; gsub(/.*imports: | *-->.*/, "", above); next }
    /<!-- not compiled here: |<!-- quoted from / { skip = FNR; next }
    /^ *(\/\/\/ )?```swift *$/ {
      if (skip && skip == FNR - 1) { next }
      imports = importing && importing == FNR - 1 ? above : ""
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
  written="$written $out"
  shift
  examples "$@" >"$made"
  if [ "$mode" = --check ]; then
    cmp -s "$made" "$out" || { echo "examples have changed: run Scripts/doc-examples.sh" >&2; exit 1; }
  else
    cp "$made" "$out"
  fi
}

mode=${1:-}
further=all
written=""
write DocExamples README.md Docs/*.md Examples/*/README.md
combinations=$(further=list examples Sources/Tally/Tally.docc/*.md | sort -u)
while IFS= read -r further; do write "PageExamples${further// /}" Sources/Tally/Tally.docc/*.md; done <<<"$combinations"
further=all
# shellcheck disable=SC2046  # paths without spaces
write StoreExamples $(git ls-files 'Sources/TallyStore/Store/*.swift' ':!Sources/TallyStore/Store/Ordered*' ':!Sources/TallyStore/Store/Relationship*')
# shellcheck disable=SC2046  # paths without spaces
write ListExamples $(git ls-files 'Sources/TallyStore/Store/Ordered*.swift' 'Sources/TallyStore/Store/Relationship*.swift')
# shellcheck disable=SC2046  # paths without spaces
write DeclarationExamples $(git ls-files 'Sources/TallySchema/*.swift' 'Sources/TallyStore/*.swift' ':!Sources/TallyStore/Store')
# shellcheck disable=SC2046  # paths without spaces
write SyncExamples $(git ls-files 'Sources/TallySync/*.swift')
# shellcheck disable=SC2046  # paths without spaces
write AssetExamples $(git ls-files 'Sources/TallyAssets/*.swift')
# shellcheck disable=SC2046  # paths without spaces
write MacroExamples $(git ls-files 'Sources/TallyMacros/*.swift')
# shellcheck disable=SC2046  # paths without spaces
write CommentExamples $(git ls-files 'Sources/*.swift' ':!Sources/TallySchema' ':!Sources/TallyStore' ':!Sources/TallySync' ':!Sources/TallyAssets' ':!Sources/TallyMacros')

# A combination of modules that no page has any more.
for out in Tests/DocExamples/PageExamples*.swift; do
  [[ " $written " == *" $out "* ]] && continue
  [ "$mode" != --check ] || { echo "$out is of no page: run Scripts/doc-examples.sh" >&2; exit 1; }
  rm "$out"
done
