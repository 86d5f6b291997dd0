// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import java.time.Duration;

/**
 * A slot that a call holds while it is in progress.
 *
 * @param token opaque value that requests send to renew or release the slot
 * @param expires time from the response until the slot expires if it is not renewed
 */
public record HeldSlot(String token, Duration expires) {}
