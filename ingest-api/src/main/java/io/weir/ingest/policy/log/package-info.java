// SPDX-License-Identifier: Apache-2.0
/**
 * Policies that change while calls are decided: the log of their changes in two compacted topics,
 * its readers and writers, and the last version on a node's disk. Decision record 0017 gives the
 * reasons.
 */
@NullMarked
package io.weir.ingest.policy.log;

import org.jspecify.annotations.NullMarked;
