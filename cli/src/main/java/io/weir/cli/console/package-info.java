// SPDX-License-Identifier: Apache-2.0
/**
 * The parts that all commands share: their context, output to the terminal, and the end of the
 * process.
 */
@NullMarked
package io.weir.cli.console;

import org.jspecify.annotations.NullMarked;
