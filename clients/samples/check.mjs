#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Asks Weir whether a call may pass, with nothing but Node's own library (18 or newer).
//
//   check.mjs acme "GET /v1/items/{id}" http://10.0.0.11:8080 http://10.0.0.12:8080
//
// Exit status: 0 the call may pass, 1 it is denied, 2 the request is wrong, 3 no node has decided.
// The bearer token, if the nodes ask for one, is read from the variable WEIR_TOKEN; how long one
// node is waited for, in milliseconds, from TRY_MILLIS.
import { randomUUID } from 'node:crypto';

// Redis has 250 ms of it before a policy decides without Redis
const tryMillis = Number(process.env.TRY_MILLIS ?? 300);

/**
 * Returns the answer of the first node that decides; null when none does.
 *
 * A call is sent to each node under the same id, so it is counted once, even if several nodes received it.
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
      // not reached, too slow, cut off, or no JSON: the next node
    }
  }
  return null;
}

const [client, endpoint, ...given] = process.argv.slice(2);
const nodes = given.length > 0 ? given : ['http://localhost:8080'];
const told = await check(nodes, { client, endpoint });
if (told === null) {
  console.log('undecided'); // serve or refuse: that is for you to say
  process.exitCode = 3;
} else if (told.allowed === undefined) {
  console.log(told.reason, told.field ?? '', told.detail);
  process.exitCode = 2;
} else {
  const left = told.limits.map((limit) => `${limit.policy}=${limit.remaining}`).join(' ');
  console.log(told.allowed ? 'allowed' : `denied, ${told.reason}`, left);
  process.exitCode = told.allowed ? 0 : 1;
}
