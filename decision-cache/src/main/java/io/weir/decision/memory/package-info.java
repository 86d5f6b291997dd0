// SPDX-License-Identifier: Apache-2.0
/**
 * The decision cache in the memory of this process. The package may depend only on the interface of
 * decision caches and on the module limits.
 */
@NullMarked
package io.weir.decision.memory;

import org.jspecify.annotations.NullMarked;
