// SPDX-License-Identifier: Apache-2.0
/** Checks of a call's buckets, and the decision that charges all of them or none. */
@NullMarked
package io.weir.limits.check;

import org.jspecify.annotations.NullMarked;
