#!/usr/bin/env bash
# Makes new certificates for the transport tests: an authority, a server at 127.0.0.1, a client, and a stranger that signed itself.
# They protect nothing. Valid for a hundred years, so that no test fails on a date.
set -euo pipefail
cd "$(dirname "$0")/../Tests/TransportTests/Certificates"
days=36500
key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }
signed() { # name, extension
  key "$1"
  openssl req -new -key "$1.key" -subj "/CN=tally test $1" -out "$1.csr"
  openssl x509 -req -in "$1.csr" -CA authority.pem -CAkey authority.key -CAcreateserial -days $days \
    -extfile <(printf '%s\n' "$2") -out "$1.pem" 2>/dev/null
  rm -f "$1.csr" authority.srl
}
for name in authority stranger; do
  key "$name"
  openssl req -x509 -new -key "$name.key" -subj "/CN=tally test $name" -days $days \
    -addext "subjectAltName=IP:127.0.0.1" -out "$name.pem"
done
signed server "subjectAltName=IP:127.0.0.1,DNS:localhost"
signed client "extendedKeyUsage=clientAuth"
rm -f authority.key
