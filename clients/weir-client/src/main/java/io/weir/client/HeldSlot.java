// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import java.time.Duration;

/**
 * A slot that a call holds while it is in progress.
 *
 * @param token opaque value that identifies the slot in requests to renew or release the slot
 * @param expires time from the response until the slot expires without a renewal
 */
public record HeldSlot(String token, Duration expires) {}
