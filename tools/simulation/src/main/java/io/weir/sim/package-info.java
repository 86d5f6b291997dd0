// SPDX-License-Identifier: Apache-2.0
/**
 * The deterministic simulation: Weir's own code with virtual time, a seeded scheduler and many
 * kinds of faults. This package may depend on all modules. The package reads no clock, and starts
 * threads only to run several seeds at once.
 */
@NullMarked
package io.weir.sim;

import org.jspecify.annotations.NullMarked;
