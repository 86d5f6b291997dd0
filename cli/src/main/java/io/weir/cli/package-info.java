// SPDX-License-Identifier: Apache-2.0
/**
 * The commands of {@code ./weir}: everything in one process for a laptop or a demo, single
 * processes for production, and the operator's tools. May depend on every other module.
 */
@NullMarked
package io.weir.cli;

import org.jspecify.annotations.NullMarked;
