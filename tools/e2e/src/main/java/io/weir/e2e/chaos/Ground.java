// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

/** What a fault affects. Two simultaneous faults have no ground in common. */
enum Ground {
  INGEST,
  AGGREGATORS,
  BROKERS,
  REDIS,
  NETWORK,
  PROCESSORS
}
