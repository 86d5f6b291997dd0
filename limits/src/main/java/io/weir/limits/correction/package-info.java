// SPDX-License-Identifier: Apache-2.0
/** Corrections of buckets, and the rule for applying them. */
@NullMarked
package io.weir.limits.correction;

import org.jspecify.annotations.NullMarked;
