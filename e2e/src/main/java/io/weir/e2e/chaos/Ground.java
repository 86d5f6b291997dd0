// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

/** What a fault lays hands on. Two faults at once have no ground in common. */
enum Ground {
  INGEST,
  AGGREGATORS,
  BROKERS,
  REDIS,
  NETWORK,
  PROCESSORS
}
