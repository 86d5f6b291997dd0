// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.audit;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.e2e.Recorded;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Compares the tokens that each client's bucket admitted, according to the audit log, with the
 * maximum. A bucket in the cache admits at most capacity × <i>fills</i> + refill × <i>T</i> tokens:
 *
 * <ul>
 *   <li><i>T</i> is the time between the bucket's first and last charge.
 *   <li><i>fills</i> is 1, plus the number of times that the cache has lost charges. If a node
 *       decided a call of the client without the cache, <i>fills</i> is one higher. The aggregator
 *       assumes a full bucket if such a call is the first record of the bucket.
 * </ul>
 *
 * <p>The calls that a node decides without the cache have a separate maximum, for each run of the
 * node. <i>T</i> is then the time between the first and last of these calls. In one run, the node
 * admits at most its share of the capacity, and of the refill during <i>T</i>. The share starts
 * full if the node has decided no call without the cache for 60 s.
 *
 * <p>Each maximum is one token higher, because records have times in whole milliseconds.
 */
final class Admissions {
  private static final long SHARE_FORGOTTEN_MILLIS = 60_000;

  private final Limit limit;
  private final Set<String> seen = new HashSet<>();
  private final Map<String, Charges> byCache = new HashMap<>();
  private final Map<String, Map<String, Charges>> byNode = new HashMap<>();

  /** The charges of one bucket: tokens by time, in epoch milliseconds. */
  private static final class Charges {
    private final TreeMap<Long, Long> tokens = new TreeMap<>();

    void add(long epochMillis, long cost) {
      tokens.merge(epochMillis, cost, Long::sum);
    }

    long sum() {
      return tokens.values().stream().mapToLong(Long::longValue).sum();
    }

    long millis() {
      return tokens.isEmpty() ? 0 : tokens.lastKey() - tokens.firstKey();
    }

    /** Returns how many intervals of at least {@code leastMillis} contain no charge. */
    long gaps(long leastMillis) {
      long gaps = 0;
      long before = Long.MAX_VALUE;
      for (long time : tokens.keySet()) {
        gaps += time - leastMillis >= before ? 1 : 0;
        before = time;
      }
      return gaps;
    }
  }

  Admissions(Limit limit) {
    this.limit = limit;
  }

  /** Adds a batch of calls. Ignores lines that an earlier batch contained. */
  void add(Recorded.Row batch) {
    for (int i = 0; i < batch.lines().size(); i++) {
      JsonNode line = batch.lines().get(i);
      if (line.path("allowed").asBoolean()
          && line.path("endpoint").asText().startsWith(limit.endpoints())
          && seen.add(batch.position(i))) {
        take(batch.journal(), line);
      }
    }
  }

  private void take(String journal, JsonNode line) {
    String client = line.path("client").asText().intern();
    Charges charges =
        line.path("decided_by").asText().equals("cache")
            ? byCache.computeIfAbsent(client, unknown -> new Charges())
            : byNode
                .computeIfAbsent(client, unknown -> new HashMap<>())
                .computeIfAbsent(journal, unknown -> new Charges());
    charges.add(line.path("decided_at_ms").asLong(), line.path("cost").asLong());
  }

  /**
   * Describes each bucket of a client that admitted more tokens than its maximum.
   *
   * @param losses number of times that the cache lost charges while the client called
   */
  List<String> beyond(String client, long losses) {
    List<String> beyond = new ArrayList<>();
    Map<String, Charges> alone = byNode.getOrDefault(client, Map.of());
    Charges charged = byCache.getOrDefault(client, new Charges());
    long fills = 1 + losses + (alone.isEmpty() ? 0 : 1);
    compare(client + " in the cache", charged, fills, 1, beyond);
    alone.forEach(
        (journal, charges) ->
            compare(
                client + " at " + journal,
                charges,
                1 + charges.gaps(SHARE_FORGOTTEN_MILLIS),
                limit.nodes(),
                beyond));
    return beyond;
  }

  private void compare(String what, Charges charges, long fills, int sharers, List<String> beyond) {
    long refilled = limit.tokensPerSecond() * charges.millis() / 1_000 / sharers + 1;
    long most = limit.capacity() / sharers * fills + refilled;
    if (charges.sum() > most) {
      beyond.add(
          "the bucket of "
              + what
              + " admitted "
              + charges.sum()
              + " tokens in "
              + charges.millis()
              + " ms, but at most "
              + most);
    }
  }
}
