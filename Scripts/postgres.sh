#!/usr/bin/env bash
# Runs a private PostgreSQL for tests, in a folder of its own under /tmp, reachable only over a socket in that folder.
#
#   postgres.sh serve DIR    creates and starts one, prints "ready", and removes everything when standard input ends
#   postgres.sh standby DIR FROM   the same with a standby of the server in FROM, which streams from it
#   postgres.sh promote DIR  promotes a standby to a server of its own
#   postgres.sh crash DIR    stops it at once, as a crash would (pg_ctl stop -m immediate)
#   postgres.sh start DIR    starts it again
#   postgres.sh find         prints where the programs are, or fails
#
# Its user is tally: postgresql:///DATABASE?host=DIR&user=tally. As root it runs as the user postgres, since PostgreSQL refuses root.
set -euo pipefail
cd /

find_programs() {
  local folder
  folder=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
  if [ -z "$folder" ] && command -v initdb >/dev/null; then folder=$(dirname "$(readlink -f "$(command -v initdb)")"); fi
  [ -x "$folder/initdb" ] && [ -x "$folder/postgres" ] || return 1
  if [ "$(id -u)" = 0 ]; then id postgres >/dev/null 2>&1 || return 1; fi
  echo "$folder"
}

as_owner() {
  if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi
}

# Locale C: what is tested does not depend on one. Nothing is synced, since a process that ends takes no page of the system with it;
# with TALLY_POSTGRES_FSYNC=on it is, for what measures.
start() (
  # The server outlives this script; a process that waits for a descriptor that they share would wait for the server too.
  for descriptor in /proc/$BASHPID/fd/*; do
    descriptor=${descriptor##*/}
    [ "$descriptor" -le 2 ] || [ "$descriptor" = 255 ] || eval "exec $descriptor>&-"
  done
  as_owner "$programs/pg_ctl" -D "$folder/data" -w -t 60 -l "$folder/log" -o "-c listen_addresses= \
    -c unix_socket_directories=$folder -c fsync=${TALLY_POSTGRES_FSYNC:-off} -c max_connections=60" start >/dev/null 2>&1 </dev/null
)

if ! programs=$(find_programs); then
  echo "no PostgreSQL server is installed (Debian: postgresql)" >&2
  exit 69
fi
[ "${1:-}" != find ] || { echo "$programs"; exit 0; }

folder=${2:?a folder}
case "${1:-}" in
  serve | standby)
    mkdir -p "$folder"
    [ "$(id -u)" != 0 ] || chown postgres "$folder"
    chmod 700 "$folder"
    finish() {
      as_owner "$programs/pg_ctl" -D "$folder/data" -m immediate stop >/dev/null 2>&1 || true
      rm -rf "$folder"
    }
    trap finish EXIT
    if [ "$1" = standby ]; then
      as_owner "$programs/pg_basebackup" -D "$folder/data" -h "${3:?the server to follow}" -U tally -R -X stream -c fast --no-sync >/dev/null
    else
      as_owner "$programs/initdb" -D "$folder/data" -U tally --auth=trust -E UTF8 --locale=C --no-sync >/dev/null
    fi
    start
    echo ready
    cat >/dev/null
    ;;
  crash) as_owner "$programs/pg_ctl" -D "$folder/data" -w -m immediate stop >/dev/null ;;
  start) start ;;
  promote) as_owner "$programs/pg_ctl" -D "$folder/data" -w -t 60 promote >/dev/null ;;
  *)
    echo "serve, standby, promote, crash or start" >&2
    exit 64
    ;;
esac
