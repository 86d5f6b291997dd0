// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import java.time.LocalDate;
import java.time.ZoneId;
import org.jspecify.annotations.Nullable;

/**
 * By which calendar a client's quotas run. What is null is taken from the policy.
 *
 * @param timeZone where the client's days begin
 * @param billingAnchor a day on which a billing period of the client begins
 */
public record ClientCalendar(@Nullable ZoneId timeZone, @Nullable LocalDate billingAnchor) {
  /** Nothing of its own: the policy's time zone and anchor. */
  public static final ClientCalendar OF_POLICY = new ClientCalendar(null, null);
}
