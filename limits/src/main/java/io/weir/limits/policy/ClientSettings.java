// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import io.weir.limits.ClientCalendar;
import io.weir.limits.PolicyLimit;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The settings of one client. Immutable.
 *
 * @param calendar the calendar of the client's quotas and bills
 * @param plan the client's plan; null for the default plan
 * @param limits the client's own limits, by policy name; they replace the limits of these policies
 * @param apiKeys keys that identify the client in calls instead of its name; at most {@value
 *     ApiKeys#MAX_OF_CLIENT}, with distinct ids
 */
public record ClientSettings(
    ClientCalendar calendar,
    @Nullable String plan,
    Map<String, PolicyLimit> limits,
    List<ApiKey> apiKeys) {
  /** Settings without any value. */
  public static final ClientSettings NONE =
      new ClientSettings(ClientCalendar.OF_POLICY, null, Map.of());

  public ClientSettings {
    limits = Map.copyOf(limits);
    apiKeys = List.copyOf(apiKeys);
  }

  /** Creates the settings of a client that has no API keys. */
  public ClientSettings(
      ClientCalendar calendar, @Nullable String plan, Map<String, PolicyLimit> limits) {
    this(calendar, plan, limits, List.of());
  }

  /** Creates settings that contain only a calendar. */
  public static ClientSettings of(ClientCalendar calendar) {
    return new ClientSettings(calendar, null, Map.of());
  }
}
