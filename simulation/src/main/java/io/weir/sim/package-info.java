// SPDX-License-Identifier: Apache-2.0
/**
 * The deterministic simulation: Weir's pure parts under virtual time, a seeded scheduler and every
 * fault that can be thought of. May depend on all modules; reads no clock and starts no thread but
 * for running several seeds at once.
 */
@NullMarked
package io.weir.sim;

import org.jspecify.annotations.NullMarked;
