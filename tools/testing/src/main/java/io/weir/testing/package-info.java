// SPDX-License-Identifier: Apache-2.0
/**
 * Utilities for the tests of all modules, such as {@link io.weir.testing.Await} and {@link
 * io.weir.testing.FullSuite}. This package may depend only on JUnit.
 */
@NullMarked
package io.weir.testing;

import org.jspecify.annotations.NullMarked;
