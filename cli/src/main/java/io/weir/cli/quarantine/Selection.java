// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.quarantine;

import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * A filter of entries, which must meet all conditions.
 *
 * @param partition partition in which they were refused; null for all
 * @param sinceEpochMillis the earliest time of their last refusal
 * @param reason part of the reason, ignoring case; null for all
 * @param client the client they belong to; null for all clients
 * @param places records or lines; an entry must match one of them; empty for all
 */
record Selection(
    @Nullable Integer partition,
    long sinceEpochMillis,
    @Nullable String reason,
    @Nullable String client,
    List<Source> places) {
  public Selection {
    places = List.copyOf(places);
  }

  /** Returns whether an entry is selected. */
  public boolean includes(Entry entry) {
    return (partition == null || partition == entry.source().partition())
        && entry.refusedAtEpochMillis() >= sinceEpochMillis
        && (reason == null || lower(entry.reason()).contains(lower(reason)))
        && (client == null || client.equals(entry.client()))
        && (places.isEmpty() || places.stream().anyMatch(place -> place.holds(entry.source())));
  }

  private static String lower(String text) {
    return text.toLowerCase(Locale.ROOT);
  }
}
