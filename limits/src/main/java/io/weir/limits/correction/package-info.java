// SPDX-License-Identifier: Apache-2.0
/** Corrections of buckets, and the rule by which a correction changes a bucket. */
@NullMarked
package io.weir.limits.correction;

import org.jspecify.annotations.NullMarked;
