#!/usr/bin/env bash
# Tests a relay behind each installed proxy, with the configurations of Examples/Relay/Hosting:
#   Scripts/relay-proxies.sh TOOL [nginx | haproxy | caddy | apache | limit]…
# TALLY_EFFORT=2 also waits for news as long as a device may.
set -euo pipefail
cd "$(dirname "$0")/.."
tool=${1:?which tool}
shift
for program in python3 openssl; do
  if ! command -v $program >/dev/null; then
    echo "proxies: not tested; there is no $program"
    exit 0
  fi
done
export PATH="$PATH:/usr/sbin:/sbin"
exec python3 -B Scripts/relay_proxies.py "$tool" "$@"
