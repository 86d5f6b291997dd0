// SPDX-License-Identifier: Apache-2.0
/** Policies: which calls a limit is for, and the buckets that a call is charged to. */
@NullMarked
package io.weir.limits.policy;

import org.jspecify.annotations.NullMarked;
