// SPDX-License-Identifier: Apache-2.0
/**
 * Corrections of the decision cache's buckets, and the restoration of a cache that has lost its
 * state.
 */
@NullMarked
package io.weir.decision.correction;

import org.jspecify.annotations.NullMarked;
