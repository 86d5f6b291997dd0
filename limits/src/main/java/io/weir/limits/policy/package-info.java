// SPDX-License-Identifier: Apache-2.0
/**
 * Policies: the calls to which a limit applies, and the buckets from which a call takes its cost.
 */
@NullMarked
package io.weir.limits.policy;

import org.jspecify.annotations.NullMarked;
