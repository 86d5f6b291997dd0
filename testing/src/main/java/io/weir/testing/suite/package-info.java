// SPDX-License-Identifier: Apache-2.0
/**
 * The command {@code ./weir test}: runs Maven, shows how far it is, and tells what came of it. May
 * depend on {@code io.weir.testing}, picocli and the progress bar.
 */
@NullMarked
package io.weir.testing.suite;

import org.jspecify.annotations.NullMarked;
