// SPDX-License-Identifier: Apache-2.0
/**
 * The commands that run Weir's processes: {@code up}, {@code demo}, {@code ingest} and {@code
 * aggregate}.
 */
@NullMarked
package io.weir.cli.run;

import org.jspecify.annotations.NullMarked;
