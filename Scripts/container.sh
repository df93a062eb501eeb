#!/usr/bin/env bash
# Builds and starts Examples/Relay/Hosting/Containerfile where docker or podman works; a stranger's client puts and reads through it.
# Elsewhere the same steps run in an empty root, which requires root, Debian and mmdebstrap: the steps of the image that is kept run in that
# root itself, and the one that compiles runs on this machine.
#   Scripts/container.sh [TOOL]      TOOL is a tally that was built as the file says; without it one is built, which takes minutes
set -euo pipefail
cd "$(dirname "$0")/.."
file=Examples/Relay/Hosting/Containerfile
tool=${1:-}
folder=$(mktemp -d)
ended=
end() {
  for command in ${ended:+"$ended"}; do $command || true; done
  rm -rf --one-file-system "$folder"
}
trap end EXIT

# client ADDRESS TOKEN: what Tests/Stranger/relay.py does with a relay; it knows nothing but the protocol's page.
client() {
  printf 'kept' >"$folder/content"
  TALLY_TOKEN=$2 python3 -B Tests/Stranger/relay.py "$1" put "a=$folder/content" "b=$folder/content" >"$folder/put"
  TALLY_TOKEN=$2 python3 -B Tests/Stranger/relay.py "$1" get a b >"$folder/got"
  [ "$(grep -c '"is": "\(put\|known\)"' "$folder/put")" = 2 ] && [ "$(grep -c 6b657074 "$folder/got")" = 2 ] || {
    cat "$folder/put" "$folder/got" >&2
    return 1
  }
}

until_there() {
  for _ in $(seq 300); do
    if "$@" >/dev/null 2>&1; then return 0; fi
    sleep 0.2
  done
  echo "container: not within a minute: $*" >&2
  return 1
}

for builder in docker podman none; do
  if [ $builder != none ] && command -v $builder >/dev/null && $builder info >/dev/null 2>&1; then break; fi
done

if [ $builder != none ]; then
  image=tally-relay-test-$$
  $builder build -f "$file" -t "$image" .
  name=$($builder run -d -p 127.0.0.1::8480 "$image")
  ended="$builder rm -f -v $name"
  port=$($builder port "$name" 8480 | head -n 1)
  address=http://127.0.0.1:${port##*:}
  until_there $builder exec "$name" tally relay token --data /data/relay.sqlite --url "$address"
  made=$($builder exec "$name" tally relay token --data /data/relay.sqlite --url "$address")
  client "$(head -n 1 <<<"$made")" "$(tail -n 1 <<<"$made")"
  $builder restart "$name" >/dev/null
  port=$($builder port "$name" 8480 | head -n 1)
  until_there client "http://127.0.0.1:${port##*:}/s/$(head -n 1 <<<"$made" | sed 's|.*/||')" "$(tail -n 1 <<<"$made")"
  $builder stop "$name" >/dev/null
  [ "$($builder inspect -f '{{.State.ExitCode}}' "$name")" = 0 ]
  $builder rm -f -v "$name" >/dev/null
  ended=
  $builder rmi "$image" >/dev/null
  echo "container: built and served by $builder"
  exit 0
fi

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || ! command -v python3 >/dev/null; then
  echo "container: left out; there is neither docker nor podman, nor root on Debian"
  exit 0
fi
if ! command -v mmdebstrap >/dev/null && ! apt-get install -y -qq --no-install-recommends mmdebstrap >/dev/null 2>&1; then
  echo "container: left out; there is neither docker nor podman, nor mmdebstrap"
  exit 0
fi

# Each instruction of the file on a line of its own, of one stage: the first or the last.
stage() {
  sed -E '/^#/d' "$file" | sed -e ':again' -e '/\\$/ { N; s/\\\n */ /; b again' -e '}' |
    awk -v wanted="$1" '/^FROM / { number++ } number == wanted && NF { print }'
}
[ "$(stage 3)" = "" ] && [ "$(stage 2)" != "" ] || { echo "container: $file does not have two stages" >&2; exit 1; }
release=$(stage 2 | sed -nE 's/^FROM debian:([a-z]+)-slim$/\1/p')
if [ "$release" != "$(. /etc/os-release && echo "$VERSION_CODENAME")" ]; then
  echo "container: left out; what is compiled here is not for Debian $release"
  exit 0
fi
if [ -z "$tool" ]; then
  compile=$(stage 1 | sed -n 's/^RUN \(swift build .*\)/\1/p')
  [ -n "$compile" ] || { echo "container: $file does not compile" >&2; exit 1; }
  bash -c "$compile --scratch-path .build-container"
  tool=.build-container/release/tally
fi

root=$folder/root
sources=()
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.sources; do if [ -s "$list" ]; then sources+=("$list"); fi; done
mmdebstrap --quiet --variant=minbase "$release" "$root" "${sources[@]}"
cp /etc/resolv.conf "$root/etc/resolv.conf"
mount --bind /proc "$root/proc"
ended="umount -l $root/proc"
user=root entry='' arguments=''
json() { python3 -c 'import json, shlex, sys; print(" ".join(shlex.quote(word) for word in json.loads(sys.argv[1])))' "$1"; }
while read -r verb rest; do
  echo "container: $verb $rest" | cut -c 1-140
  case $verb in
  FROM | EXPOSE | STOPSIGNAL) ;;
  RUN)
    if ! DEBIAN_FRONTEND=noninteractive chroot "$root" /bin/sh -c "$rest" >"$folder/log" 2>&1 </dev/null; then
      tail -n 30 "$folder/log" >&2
      exit 1
    fi ;;
  COPY)
    [ "$rest" = "--from=build /source/.build/release/tally /usr/local/bin/tally" ] || { echo "container: what is $rest?" >&2; exit 1; }
    cp "$tool" "$root/usr/local/bin/tally" ;;
  USER) user=$rest ;;
  VOLUME) mkdir -p "$root$rest" ;;
  ENTRYPOINT) entry=$(json "$rest") ;;
  CMD) arguments=$(json "$rest") ;;
  *) echo "container: $file has an instruction that this script does not know: $verb" >&2; exit 1 ;;
  esac
done < <(stage 2)

# In a network of its own, where no other program has the port.
export -f client until_there
export folder root user entry arguments
unshare -n bash -euo pipefail -c '
  ip link set lo up
  inside() { exec chroot --userspec="$user" "$root" /usr/bin/env -i HOME=/data PATH=/usr/local/bin:/usr/bin:/bin "$@"; }
  is_up() { (inside $entry relay list --data /data/relay.sqlite); }
  serve() {
    inside $entry $arguments >"$folder/relay.log" 2>&1 &
    relay=$!
    until_there is_up
  }
  fail() { cat "$folder/relay.log" >&2; exit 1; }
  serve || fail
  made=$(inside $entry relay token --data /data/relay.sqlite --url http://127.0.0.1:8480)
  for round in first again; do
    until_there client "$(head -n 1 <<<"$made")" "$(tail -n 1 <<<"$made")" || fail
    kill -TERM $relay
    wait $relay || fail
    [ $round = again ] || serve || fail
  done
  [ "$(stat -c %U "$root/data/relay.sqlite" 2>/dev/null)" != root ] || { echo "container: the relay runs as root" >&2; exit 1; }'
echo "container: the steps of $file made a root of $(du -smx "$root" | cut -f 1) MiB, in which a relay served, ended and served again"
