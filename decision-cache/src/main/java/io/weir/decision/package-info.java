// SPDX-License-Identifier: Apache-2.0
/**
 * Pure: what a decision is, the token bucket's arithmetic, and the port behind which a cache
 * decides. Depends on the model of the topics and the nullness annotations.
 */
@NullMarked
package io.weir.decision;

import org.jspecify.annotations.NullMarked;
