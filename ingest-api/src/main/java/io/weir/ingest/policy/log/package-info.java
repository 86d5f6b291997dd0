// SPDX-License-Identifier: Apache-2.0
/**
 * Policies that change while calls are decided: the log of their changes in two compacted topics,
 * who reads it, who writes it, and the last version on a node's disk. Decision record 0017 has the
 * reasons.
 */
@NullMarked
package io.weir.ingest.policy.log;

import org.jspecify.annotations.NullMarked;
