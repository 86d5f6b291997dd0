// SPDX-License-Identifier: Apache-2.0
/**
 * The command line of {@code ./weir}. The subpackages contain the commands. Some commands run all
 * of Weir in one process, for a laptop or a demo. Other commands run single processes for
 * production, or are the operator's tools. A subpackage may depend on every other module, but not
 * on this package.
 */
@NullMarked
package io.weir.cli;

import org.jspecify.annotations.NullMarked;
