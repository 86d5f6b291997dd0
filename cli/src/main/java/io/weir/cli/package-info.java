// SPDX-License-Identifier: Apache-2.0
/**
 * The command line of {@code ./weir}. The packages below it have the commands: everything in one
 * process for a laptop or a demo, single processes for production, and the operator's tools. They
 * may depend on every other module, but not on this package.
 */
@NullMarked
package io.weir.cli;

import org.jspecify.annotations.NullMarked;
