// SPDX-License-Identifier: Apache-2.0
/** The clocks of this machine, as a part that is handed in. Depends on nothing. */
@NullMarked
package io.weir.ingest.clock;

import org.jspecify.annotations.NullMarked;
