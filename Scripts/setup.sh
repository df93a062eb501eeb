#!/usr/bin/env bash
# Checks for the two system libraries that Tally links, and installs them where that is possible. `setup.sh relay` does the same for what
# the relay's tests on PostgreSQL need; where it may not install that, it prints a message, and the relay is tested on files only.
# `setup.sh browser` does it for Chromium, for the tests of the inspector's pages, `setup.sh proxies` for the proxies of a relay or of its
# database. It starts none of these.
set -euo pipefail

missing=()
may_install() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }
install() {
  echo "Installing ${missing[*]} …"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

if [ "${1:-}" = relay ]; then
  pkg-config --exists libpq || missing+=(libpq-dev)
  bash "$(dirname "$0")/postgres.sh" find >/dev/null 2>&1 || missing+=(postgresql)
  [ ${#missing[@]} -eq 0 ] && exit 0
  if may_install; then
    install
    exit 0
  fi
  echo "The relay is tested on files only; on PostgreSQL too with these packages: ${missing[*]}" >&2
  echo "  Debian, Ubuntu:  sudo apt-get install ${missing[*]}" >&2
  echo "  Fedora:          sudo dnf install libpq-devel postgresql-server" >&2
  exit 0
fi

if [ "${1:-}" = proxies ]; then
  export PATH="$PATH:/usr/sbin:/sbin"
  command -v nginx >/dev/null || missing+=(nginx-light)
  command -v apache2 >/dev/null || command -v httpd >/dev/null || missing+=(apache2)
  for name in haproxy caddy pgbouncer; do command -v $name >/dev/null || missing+=("$name"); done
  [ ${#missing[@]} -eq 0 ] && exit 0
  # In this runlevel Debian starts no service that it installs.
  export RUNLEVEL=1
  if may_install && install; then exit 0; fi
  echo "The relay is not tested behind these: ${missing[*]} (Debian, Ubuntu: sudo apt-get install ${missing[*]})" >&2
  exit 0
fi

if [ "${1:-}" = browser ]; then
  for name in chromium chromium-browser google-chrome; do command -v "$name" >/dev/null && exit 0; done
  missing+=(chromium)
  if may_install && install; then exit 0; fi
  echo "The inspector's pages are not tested: there is no Chromium (Debian, Ubuntu: sudo apt-get install chromium)" >&2
  exit 0
fi

case "$(uname -s)" in
  Darwin) exit 0 ;; # SQLite is part of the system, zstd comes as a Swift package.
esac

[ -e /usr/include/sqlite3.h ] || missing+=(libsqlite3-dev)
[ -e /usr/include/zstd.h ] || missing+=(libzstd-dev)
command -v pkg-config >/dev/null || missing+=(pkg-config)
[ ${#missing[@]} -eq 0 ] && exit 0
if may_install; then
  install
  exit 0
fi
echo "Tally needs these packages: ${missing[*]}" >&2
echo "  Debian, Ubuntu:  sudo apt-get install ${missing[*]}" >&2
echo "  Fedora:          sudo dnf install sqlite-devel libzstd-devel pkgconf" >&2
exit 1
