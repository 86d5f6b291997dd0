// SPDX-License-Identifier: Apache-2.0
/**
 * What the tests of all modules share: how they wait ({@link io.weir.testing.Await}) and which of
 * them a run leaves out ({@link io.weir.testing.FullSuite}). May depend on JUnit alone.
 */
@NullMarked
package io.weir.testing;

import org.jspecify.annotations.NullMarked;
