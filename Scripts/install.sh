#!/usr/bin/env bash
# Installs a built tool with its manual page and completions, or removes all of it.
#   [DESTDIR=/scratch] [PREFIX=/usr/local] Scripts/install.sh install TOOL | uninstall
set -euo pipefail
cd "$(dirname "$0")/.."
prefix=${DESTDIR:-}${PREFIX:-/usr/local}
binary=$prefix/bin/tally
manual=$prefix/share/man/man1/tally.1
# Where each shell looks: bash-completion(1), zsh's site-functions, fish's vendor completions.
bash=$prefix/share/bash-completion/completions/tally
zsh=$prefix/share/zsh/site-functions/_tally
fish=$prefix/share/fish/vendor_completions.d/tally.fish

case ${1:-} in
install)
  tool=${2:?which tool}
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  # Nothing is installed unless all of it could be made.
  for shell in bash zsh fish; do "$tool" --generate-completion-script $shell >"$scratch/$shell"; done
  "$tool" --experimental-dump-help | python3 Scripts/manual.py >"$scratch/manual"
  install -D -m 755 "$tool" "$binary"
  install -D -m 644 "$scratch/manual" "$manual"
  for shell in bash zsh fish; do install -D -m 644 "$scratch/$shell" "${!shell}"; done
  ;;
uninstall) rm -f "$binary" "$manual" "$bash" "$zsh" "$fish" ;;
*)
  sed -n 2,3p "$0" >&2
  exit 64
  ;;
esac
