// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import java.time.Duration;

/**
 * Timeouts of searches.
 *
 * @param search maximum duration of one search
 * @param request maximum duration of one request to Kafka, and of the wait for a consumer
 */
record SearchTimes(Duration search, Duration request) {
  /** The default timeouts: 10 s for a search and 5 s for a request to Kafka. */
  static final SearchTimes DEFAULT = new SearchTimes(Duration.ofSeconds(10), Duration.ofSeconds(5));
}
