// SPDX-License-Identifier: Apache-2.0
/** The decision cache kept in this process; may depend on the port and its arithmetic alone. */
@NullMarked
package io.weir.decision.memory;

import org.jspecify.annotations.NullMarked;
