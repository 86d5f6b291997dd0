// SPDX-License-Identifier: Apache-2.0
/**
 * The deterministic simulation: Weir's pure parts under virtual time, a seeded scheduler and every
 * fault that we could think of. May depend on all modules; reads no clock, and starts no threads
 * except to run several seeds at once.
 */
@NullMarked
package io.weir.sim;

import org.jspecify.annotations.NullMarked;
