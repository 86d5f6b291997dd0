// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher.quarantine;

import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Which entries are meant: those for which every condition holds that is given.
 *
 * @param partition where they were refused; null for all
 * @param sinceEpochMillis when they were refused last at the earliest
 * @param reason part of the reason, in any case; null for all
 * @param client whose they are; null for everyone's
 * @param places records or lines, of which an entry must be one; empty for all
 */
public record Selection(
    @Nullable Integer partition,
    long sinceEpochMillis,
    @Nullable String reason,
    @Nullable String client,
    List<Source> places) {
  public Selection {
    places = List.copyOf(places);
  }

  /** Whether an entry is meant. */
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
