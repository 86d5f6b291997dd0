// SPDX-License-Identifier: Apache-2.0
/**
 * The command {@code ./weir test}: runs Maven, shows its progress, and prints the results. This
 * package may depend on {@code io.weir.testing}, picocli and the progress bar.
 */
@NullMarked
package io.weir.testing.suite;

import org.jspecify.annotations.NullMarked;
