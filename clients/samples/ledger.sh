#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints every row of Weir's ledger, with its window, and ends. Needs kcat and jq.
#   clients/samples/ledger.sh [BOOTSTRAP_SERVERS]      (else WEIR_KAFKA, else localhost:9092)
set -euo pipefail

kcat -b "${1:-${WEIR_KAFKA:-localhost:9092}}" -X isolation.level=read_committed -t weir.usage.ledger.v1 -C -e -q |
  jq -c 'select(.record_type != "CLOSE") |
    {record_type, client, endpoint, others, meter, quantity, calls_denied,
     from: (.window_start_ms / 1000 | todate), to: (.window_end_ms / 1000 | todate)} |
    del(.others | nulls)'
