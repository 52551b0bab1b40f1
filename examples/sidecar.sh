#!/usr/bin/env bash
# A service written in shell among services written in Node. It registers with the node that runs beside it, over HTTP, and
# renews its lease for as long as it lives:
#
#   ROLLCALL_TOKEN=secret npx rollcall agent --join 10.0.0.1:7400
#   ROLLCALL_TOKEN=secret examples/sidecar.sh
#
# On a signal it says that it is gone. Killed, it cannot: then its lease runs out.
set -euo pipefail

url=${ROLLCALL_URL:-http://127.0.0.1:7780}/v1/registrations/clock-$$
lease_ms=${LEASE_MS:-3000}

# The token goes through a pipe: as an argument, every user of this machine could see it.
ask() {
  curl --silent --show-error --fail --output /dev/null --max-time 5 \
    --config <(printf 'header = "Authorization: Bearer %s"\n' "$ROLLCALL_TOKEN") \
    --header 'Content-Type: application/json' "$@"
}

register() {
  ask --request PUT --data @- "$url" <<JSON
{ "name": "Clock", "version": "1.0.0", "address": "127.0.0.1:3700", "metadata": { "pid": $$ }, "leaseMs": $lease_ms }
JSON
}

# Where the node has been started anew, it knows of no lease.
renew() { ask --request POST "$url/renew" 2>/dev/null || register; }

trap 'ask --request DELETE "$url"; exit 0' TERM INT

register
echo "registered as clock-$$"
while :; do
  # Three tries in the time of a lease. In the background, so that a signal is heard at once.
  sleep "$(printf '%d.%03d' $((lease_ms / 3000)) $((lease_ms / 3 % 1000)))" &
  wait $!
  renew || echo "the node does not answer; trying again" >&2
done
