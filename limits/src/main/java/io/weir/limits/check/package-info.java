// SPDX-License-Identifier: Apache-2.0
/** One check: the buckets it asks, and the decision over all of them, all or nothing. */
@NullMarked
package io.weir.limits.check;

import org.jspecify.annotations.NullMarked;
