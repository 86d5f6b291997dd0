// SPDX-License-Identifier: Apache-2.0
/** The clocks of this machine, passed in as a dependency. Depends on nothing. */
@NullMarked
package io.weir.ingest.clock;

import org.jspecify.annotations.NullMarked;
