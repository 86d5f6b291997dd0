// SPDX-License-Identifier: Apache-2.0
/**
 * Limits and the arithmetic of their buckets: the reference for every cache and every other
 * evaluation of a bucket. The package depends only on the JDK and the nullness annotations.
 */
@NullMarked
package io.weir.limits;

import org.jspecify.annotations.NullMarked;
