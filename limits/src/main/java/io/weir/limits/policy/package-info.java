// SPDX-License-Identifier: Apache-2.0
/** Policies, and the matching of calls with policies and buckets. */
@NullMarked
package io.weir.limits.policy;

import org.jspecify.annotations.NullMarked;
