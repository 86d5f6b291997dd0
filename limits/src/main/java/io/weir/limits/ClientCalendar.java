// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import java.time.LocalDate;
import java.time.ZoneId;
import org.jspecify.annotations.Nullable;

/**
 * The calendar of a client's quotas and bills. If a component is null, quotas use that of their
 * policy. Bills use UTC or the first of the month instead (see {@link BillingCalendar}).
 *
 * @param timeZone zone in which the client's days begin
 * @param billingAnchor a day on which a billing period of the client begins
 */
public record ClientCalendar(@Nullable ZoneId timeZone, @Nullable LocalDate billingAnchor) {
  /** The calendar of a client without settings of its own: the policy's time zone and anchor. */
  public static final ClientCalendar OF_POLICY = new ClientCalendar(null, null);
}
