// SPDX-License-Identifier: Apache-2.0
/**
 * Limits and the arithmetic of their buckets. All caches and all other code that evaluates buckets
 * compute the same results. The package depends only on the JDK and the nullness annotations.
 */
@NullMarked
package io.weir.limits;

import org.jspecify.annotations.NullMarked;
