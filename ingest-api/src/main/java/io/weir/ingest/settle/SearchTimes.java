// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import java.time.Duration;

/**
 * How long searches may take.
 *
 * @param search one search, whatever it asks
 * @param question one question to Kafka, and the wait for the turn to ask it
 */
record SearchTimes(Duration search, Duration question) {
  /** What a caller waits for at most, and what Kafka is given of it. */
  static final SearchTimes DEFAULT = new SearchTimes(Duration.ofSeconds(10), Duration.ofSeconds(5));
}
