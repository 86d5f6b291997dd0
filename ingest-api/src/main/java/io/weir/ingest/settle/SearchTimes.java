// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import java.time.Duration;

/**
 * Time limits of searches.
 *
 * @param search longest duration of one search
 * @param question longest duration of one request to Kafka, and of the wait for the turn to send it
 */
record SearchTimes(Duration search, Duration question) {
  /** The longest time that a caller should wait, and the part of it granted to Kafka. */
  static final SearchTimes DEFAULT = new SearchTimes(Duration.ofSeconds(10), Duration.ofSeconds(5));
}
