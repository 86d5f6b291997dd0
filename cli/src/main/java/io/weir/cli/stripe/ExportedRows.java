// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.HashMap;
import java.util.Map;

/**
 * The read and closed position of each partition, and the exported rows: the member {@code end} of
 * a line of the {@link StateFile}. Mutable; not thread-safe.
 */
final class ExportedRows {
  /** The offset after the last record read, by partition. */
  @JsonProperty Map<Integer, Long> next = new HashMap<>();

  /** The end of the last closed window, by partition. */
  @JsonProperty Map<Integer, Long> closed = new HashMap<>();

  /** The FINAL rows after the newest CLOSE row, with the end of their window. */
  @JsonProperty Map<Integer, Map<String, Long>> finals = new HashMap<>();

  /** The ADJUSTMENT rows, with the end of their window. */
  @JsonProperty Map<String, Long> adjustments = new HashMap<>();

  /** The rows that were kept and sent later, with the end of their window. */
  @JsonProperty Map<String, Long> resent = new HashMap<>();

  /** Events that Stripe may or may not have, with the time of the first try. */
  @JsonProperty Map<String, Long> uncertain = new HashMap<>();

  long closedThrough(int partition) {
    return closed.getOrDefault(partition, Long.MIN_VALUE);
  }

  Map<String, Long> finals(int partition) {
    return finals.computeIfAbsent(partition, none -> new HashMap<>());
  }

  void add(ExportedRows more) {
    next.putAll(more.next);
    closed.putAll(more.closed);
    adjustments.putAll(more.adjustments);
    resent.putAll(more.resent);
    more.finals.forEach((partition, ids) -> finals(partition).putAll(ids));
    more.closed.keySet().forEach(this::forgetClosed);
  }

  void forgetClosed(int partition) {
    finals(partition).values().removeIf(end -> end <= closedThrough(partition));
  }
}
