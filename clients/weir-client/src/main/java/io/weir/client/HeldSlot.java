// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import java.time.Duration;

/**
 * A slot that a call holds while it is under way.
 *
 * @param token what renews and releases the slot; opaque
 * @param expires for how long the slot is held without a renewal, from the answer on
 */
public record HeldSlot(String token, Duration expires) {}
