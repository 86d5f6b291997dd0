// SPDX-License-Identifier: Apache-2.0
/**
 * Checks: the buckets that a call is checked against, and the all-or-nothing decision over them.
 */
@NullMarked
package io.weir.limits.check;

import org.jspecify.annotations.NullMarked;
