// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Counts the checks that match no policy and therefore have no limit. There is one counter for each
 * prefix of an endpoint up to the second slash, such as {@code GET /v1}. Logs the first check of
 * each prefix. The number of counted prefixes is bounded, because callers choose the endpoints.
 * Thread-safe.
 */
final class UnmatchedCalls {
  static final int MAX_PREFIXES = 20;
  static final String OTHER = "other";

  private static final int MAX_CHARS = 64;
  private static final Logger LOG = LoggerFactory.getLogger(UnmatchedCalls.class);

  private final MeterRegistry registry;
  private final Counter others;
  private final Map<String, Counter> byPrefix = new ConcurrentHashMap<>();

  UnmatchedCalls(MeterRegistry registry) {
    this.registry = registry;
    this.others = counter(OTHER);
  }

  private Counter counter(String prefix) {
    return Counter.builder("weir.checks.unmatched")
        .description("checks that match no policy, by the prefix of their endpoint")
        .tag("endpoint_prefix", prefix)
        .register(registry);
  }

  void count(String endpoint) {
    String prefix = prefix(endpoint);
    Counter known = byPrefix.get(prefix);
    (known == null ? added(prefix) : known).increment();
  }

  private synchronized Counter added(String prefix) {
    Counter known = byPrefix.get(prefix);
    if (known != null) {
      return known;
    }
    if (byPrefix.size() >= MAX_PREFIXES) {
      return others;
    }
    Counter first = counter(prefix);
    byPrefix.put(prefix, first);
    LOG.warn(
        "calls_unmatched endpoint_prefix=\"{}\" detail=\"no policy matches, so nothing limits these"
            + " calls; 'weir policies explain' shows why. Logged once per prefix\"",
        prefix);
    return first;
  }

  private static String prefix(String endpoint) {
    int second = endpoint.indexOf('/', endpoint.indexOf('/') + 1);
    String prefix =
        endpoint.indexOf('/') < 0 || second < 0 ? endpoint : endpoint.substring(0, second);
    return prefix.length() > MAX_CHARS ? prefix.substring(0, MAX_CHARS) : prefix;
  }
}
