// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import java.time.LocalDate;
import java.time.ZoneId;
import org.jspecify.annotations.Nullable;

/**
 * The calendar of a client's quotas and bills. If a component is null, quotas use the policy's
 * value, and bills use UTC or the first day of the month (see {@link BillingCalendar}).
 *
 * @param timeZone zone in which the client's days begin; null if the client does not set it
 * @param billingAnchor a day on which a billing period of the client begins; null if the client
 *     does not set it
 */
public record ClientCalendar(@Nullable ZoneId timeZone, @Nullable LocalDate billingAnchor) {
  /** The calendar of a client that sets neither the zone nor the anchor. */
  public static final ClientCalendar OF_POLICY = new ClientCalendar(null, null);
}
