// SPDX-License-Identifier: Apache-2.0
/** The port through which a cache decides. Checks, decisions and the arithmetic are in limits. */
@NullMarked
package io.weir.decision;

import org.jspecify.annotations.NullMarked;
