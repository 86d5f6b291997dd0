// SPDX-License-Identifier: Apache-2.0
/**
 * What all commands share: their surroundings, output to the terminal, and the end of the process.
 */
@NullMarked
package io.weir.cli.console;

import org.jspecify.annotations.NullMarked;
