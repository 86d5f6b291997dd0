// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import java.time.Duration;

/**
 * How one policy's bucket stands after a call.
 *
 * @param policy the policy's name
 * @param mode {@code enforce}, or {@code shadow} of a policy that refuses nothing
 * @param limit the bucket's capacity in tokens, or the number of slots
 * @param remaining whole tokens left after this call; 0 when the bucket is in debt
 * @param reset time until the bucket is full, of a quota until its period ends
 * @param isAllowed whether the bucket held the call's cost
 */
public record PolicyState(
    String policy, String mode, long limit, long remaining, Duration reset, boolean isAllowed) {}
