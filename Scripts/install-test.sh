#!/usr/bin/env bash
# Checks that an installation is complete: installs a built tool into a scratch folder, checks what is there, and removes it.
#   Scripts/install-test.sh TOOL
set -euo pipefail
cd "$(dirname "$0")/.."
tool=${1:?which tool}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "make install: $1" >&2
  exit 1
}
make --no-print-directory install-built TOOL="$tool" DESTDIR="$scratch" PREFIX=/opt/tally
prefix=$scratch/opt/tally
manual=$prefix/share/man/man1/tally.1
for file in bin/tally share/man/man1/tally.1 share/bash-completion/completions/tally share/zsh/site-functions/_tally \
  share/fish/vendor_completions.d/tally.fish; do
  [ -s "$prefix/$file" ] || fail "$file is missing or empty"
done
[ "$("$prefix/bin/tally" --version)" = "$("$tool" --version)" ] || fail "the installed tool is another"
bash -n "$prefix/share/bash-completion/completions/tally"
# Shells and man are asked where there are any.
! command -v zsh >/dev/null || zsh -n "$prefix/share/zsh/site-functions/_tally"
! command -v fish >/dev/null || fish -n "$prefix/share/fish/vendor_completions.d/tally.fish"
commands=$("$tool" --help | sed -n '/^SUBCOMMANDS:/,/^ *$/s/^  \([a-z][a-z]*\)  .*/\1/p')
[ "$(wc -w <<<"$commands")" -gt 20 ] || fail "tally --help names few commands: $commands"
for command in $commands; do
  grep -qxF ".SS \"tally $command\"" "$manual" || fail "the manual page has no tally $command"
  grep -q "\\b$command\\b" "$prefix/share/bash-completion/completions/tally" || fail "no completion of tally $command"
done
if command -v man >/dev/null; then
  warnings=$(LC_ALL=C.UTF-8 man --warnings -l "$manual" 2>&1 >/dev/null | grep -v 'break line\|adjust line' || true)
  [ -z "$warnings" ] || fail "the manual page: $warnings"
fi
make --no-print-directory uninstall DESTDIR="$scratch" PREFIX=/opt/tally
[ -z "$(find "$scratch" -type f)" ] || fail "make uninstall leaves $(find "$scratch" -type f)"
echo "make install: the tool, its manual page with $(wc -w <<<"$commands") commands, and completions for three shells"
