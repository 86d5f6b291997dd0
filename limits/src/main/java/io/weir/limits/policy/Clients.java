// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import io.weir.limits.ClientCalendar;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What policies need to know of clients: their settings, the plans that they can have, and what to
 * do with the others. Immutable.
 *
 * <p>A policy that at least one plan names is for the clients of the plans that name it, and for
 * nobody else. A policy that no plan names is for all clients.
 *
 * @param settings by client
 * @param plans the names of the policies of each plan, by the plan's name
 * @param defaultPlan the plan of clients that have none; null for no plan
 * @param unknown what to do with clients that have no settings
 */
public record Clients(
    Map<String, ClientSettings> settings,
    Map<String, Set<String>> plans,
    @Nullable String defaultPlan,
    UnknownClients unknown) {
  /** Nothing is set for any client. */
  public static final Clients NONE = new Clients(Map.of(), Map.of(), null, UnknownClients.ALLOW);

  public Clients {
    settings = Map.copyOf(settings);
    plans = Map.copyOf(plans);
  }

  /** Returns clients with calendars of their own, and nothing else. */
  public static Clients ofCalendars(Map<String, ClientCalendar> calendars) {
    return new Clients(
        calendars.entrySet().stream()
            .collect(
                Collectors.toMap(Map.Entry::getKey, entry -> ClientSettings.of(entry.getValue()))),
        Map.of(),
        null,
        UnknownClients.ALLOW);
  }

  /** Returns the same, with calls of unknown clients allowed. */
  public Clients allowingUnknown() {
    return new Clients(settings, plans, defaultPlan, UnknownClients.ALLOW);
  }

  /** Returns the plan of a client; null if it has none. */
  public @Nullable String planOf(@Nullable ClientSettings client) {
    String plan = client == null ? null : client.plan();
    return plan == null ? defaultPlan : plan;
  }
}
