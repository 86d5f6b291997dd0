// SPDX-License-Identifier: Apache-2.0
/**
 * Limits and the arithmetic of the buckets that they limit: the one reference, which every cache
 * and every judge of a bucket answers to. Depends on the JDK and the nullness annotations.
 */
@NullMarked
package io.weir.limits;

import org.jspecify.annotations.NullMarked;
