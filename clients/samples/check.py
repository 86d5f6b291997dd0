#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks with Weir whether a call may pass. Needs only the standard library of Python 3.9 or newer.

check.py --weir http://10.0.0.11:8080 --weir http://10.0.0.12:8080 acme "GET /v1/items/{id}"

Exit status: 0 if the call may pass, 1 if it is denied, 2 if the request is wrong, 3 if no node has
decided. If the nodes require a bearer token, set the environment variable WEIR_TOKEN.
"""
import argparse
import http.client
import json
import os
import sys
import urllib.error
import urllib.request
import uuid

TRY_SECONDS = 0.3  # a node waits 250 ms for Redis before a policy decides without Redis


def check(nodes, call, try_seconds=TRY_SECONDS):
    """Returns the status and the response of the first node that decides; None if no node decides.

    All nodes receive the call with the same id, so it is counted only once.
    """
    body = json.dumps({"id": str(uuid.uuid4()), **call}).encode()
    for node in nodes:
        request = urllib.request.Request(node.rstrip("/") + "/v1/check", body)
        request.add_header("Content-Type", "application/json")
        if "WEIR_TOKEN" in os.environ:
            request.add_header("Authorization", "Bearer " + os.environ["WEIR_TOKEN"])
        try:
            with urllib.request.urlopen(request, timeout=try_seconds) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refused:  # a response with a status 4xx or 5xx
            try:
                problem = json.load(refused)
            except ValueError:
                continue  # the response comes from a proxy, not from the node
            if refused.code < 500 or problem.get("reason") == "policy-fails-closed":
                return refused.code, problem
        except (OSError, http.client.HTTPException, ValueError):
            continue  # no complete response: try the next node
    return None


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--weir", action="append", metavar="ADDRESS", help="address of a node")
    options.add_argument("--cost", type=int, default=1)
    options.add_argument("--try-seconds", type=float, default=TRY_SECONDS)
    options.add_argument("client")
    options.add_argument("endpoint")
    given = options.parse_args()
    call = {"client": given.client, "endpoint": given.endpoint, "cost": given.cost}
    decided = check(given.weir or ["http://localhost:8080"], call, given.try_seconds)
    if decided is None:
        print("undecided")  # decide here whether to serve or refuse the call
        return 3
    status, answer = decided
    if "allowed" not in answer:
        print(answer.get("reason", "unknown"), answer.get("field", ""), answer.get("detail", ""))
        return 2
    left = " ".join(f"{limit['policy']}={limit['remaining']}" for limit in answer["limits"])
    print("allowed" if answer["allowed"] else f"denied, {answer['reason']}", left)
    return 0 if answer["allowed"] else 1


if __name__ == "__main__":
    sys.exit(main())
