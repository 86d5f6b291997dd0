// SPDX-License-Identifier: Apache-2.0
/**
 * The decision cache in Redis: one script call decides the checks of many callers. The package may
 * depend on Lettuce and Micrometer.
 */
@NullMarked
package io.weir.decision.redis;

import org.jspecify.annotations.NullMarked;
