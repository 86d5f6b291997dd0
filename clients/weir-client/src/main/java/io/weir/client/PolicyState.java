// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import java.time.Duration;

/**
 * The state of one policy's bucket after a call.
 *
 * @param policy the policy's name
 * @param mode {@code enforce}, or {@code shadow} for a policy that never denies a call
 * @param limit the bucket's capacity in tokens, or the number of slots
 * @param remaining number of whole tokens that remain after this call; 0 if the bucket is in debt
 * @param reset time until the bucket is full; for a quota, the time until the end of the period
 * @param isAllowed whether the bucket had enough tokens
 */
public record PolicyState(
    String policy, String mode, long limit, long remaining, Duration reset, boolean isAllowed) {}
