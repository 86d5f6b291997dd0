#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Checks with Weir whether a call may pass. Needs only the standard library of Node 18 or newer.
//
//   check.mjs acme "GET /v1/items/{id}" http://10.0.0.11:8080 http://10.0.0.12:8080
//
// Exit status: 0 if the call may pass, 1 if it is denied, 2 if the request is wrong, 3 if no node has
// decided. If the nodes require a bearer token, set the environment variable WEIR_TOKEN. TRY_MILLIS
// is the timeout for each node in milliseconds.
import { randomUUID } from 'node:crypto';

// a node waits 250 ms for Redis before a policy decides without Redis
const tryMillis = Number(process.env.TRY_MILLIS ?? 300);

/**
 * Returns the response of the first node that decides; null if no node decides.
 *
 * All nodes receive the call with the same id, so it is counted only once.
 */
async function check(nodes, call) {
  const body = JSON.stringify({ id: randomUUID(), ...call });
  const headers = { 'Content-Type': 'application/json' };
  if (process.env.WEIR_TOKEN) headers.Authorization = `Bearer ${process.env.WEIR_TOKEN}`;
  for (const node of nodes) {
    try {
      const signal = AbortSignal.timeout(tryMillis);
      const answer = await fetch(new URL('/v1/check', node), { method: 'POST', headers, body, signal });
      const told = await answer.json();
      if (answer.status < 500 || told.reason === 'policy-fails-closed') return told;
    } catch {
      // no complete JSON response: try the next node
    }
  }
  return null;
}

const [client, endpoint, ...given] = process.argv.slice(2);
const nodes = given.length > 0 ? given : ['http://localhost:8080'];
const told = await check(nodes, { client, endpoint });
if (told === null) {
  console.log('undecided'); // decide here whether to serve or refuse the call
  process.exitCode = 3;
} else if (told.allowed === undefined) {
  console.log(told.reason, told.field ?? '', told.detail);
  process.exitCode = 2;
} else {
  const left = told.limits.map((limit) => `${limit.policy}=${limit.remaining}`).join(' ');
  console.log(told.allowed ? 'allowed' : `denied, ${told.reason}`, left);
  process.exitCode = told.allowed ? 0 : 1;
}
