// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

/** The parts that a fault affects. Two simultaneous faults affect different parts. */
enum Ground {
  INGEST,
  AGGREGATORS,
  BROKERS,
  REDIS,
  NETWORK,
  PROCESSORS
}
