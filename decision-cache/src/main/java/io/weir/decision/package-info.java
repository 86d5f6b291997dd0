// SPDX-License-Identifier: Apache-2.0
/**
 * The interface of decision caches. Checks, decisions and the arithmetic are in the module limits.
 */
@NullMarked
package io.weir.decision;

import org.jspecify.annotations.NullMarked;
