// SPDX-License-Identifier: Apache-2.0
/**
 * The clocks of this machine, which other packages receive as a dependency. This package depends on
 * no other package.
 */
@NullMarked
package io.weir.ingest.clock;

import org.jspecify.annotations.NullMarked;
