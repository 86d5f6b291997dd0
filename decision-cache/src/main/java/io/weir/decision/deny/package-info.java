// SPDX-License-Identifier: Apache-2.0
/**
 * A cache of denials. With this cache, a process denies calls without a request to the decision
 * cache.
 */
@NullMarked
package io.weir.decision.deny;

import org.jspecify.annotations.NullMarked;
