// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import io.weir.limits.ClientCalendar;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The clients of a policy set: their settings, the plans, and the handling of unknown clients.
 * Immutable.
 *
 * <p>If plans name a policy, the policy applies only to the clients of these plans. If no plan
 * names a policy, the policy applies to all clients.
 *
 * @param settings the settings of each client, by the client's name
 * @param plans the names of the policies of each plan, by the plan's name
 * @param defaultPlan the plan of clients without a plan of their own; null if there is no default
 *     plan
 * @param unknown the handling of clients without settings
 */
public record Clients(
    Map<String, ClientSettings> settings,
    Map<String, Set<String>> plans,
    @Nullable String defaultPlan,
    UnknownClients unknown) {
  /** Clients without settings, plans and a default plan. */
  public static final Clients NONE = new Clients(Map.of(), Map.of(), null, UnknownClients.ALLOW);

  public Clients {
    settings = Map.copyOf(settings);
    plans = Map.copyOf(plans);
  }

  /** Creates clients whose settings contain only calendars. */
  public static Clients ofCalendars(Map<String, ClientCalendar> calendars) {
    return new Clients(
        calendars.entrySet().stream()
            .collect(
                Collectors.toMap(Map.Entry::getKey, entry -> ClientSettings.of(entry.getValue()))),
        Map.of(),
        null,
        UnknownClients.ALLOW);
  }

  /** Returns these clients with {@link UnknownClients#ALLOW}. */
  public Clients allowingUnknown() {
    return new Clients(settings, plans, defaultPlan, UnknownClients.ALLOW);
  }

  /** Returns the plan of a client; null if the client has no plan. */
  public @Nullable String planOf(@Nullable ClientSettings client) {
    String plan = client == null ? null : client.plan();
    return plan == null ? defaultPlan : plan;
  }
}
