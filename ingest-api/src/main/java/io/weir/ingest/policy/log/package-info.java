// SPDX-License-Identifier: Apache-2.0
/**
 * The policy log: changes of policies in two compacted topics. The package contains the readers and
 * writers of the log, and the copy of the last version on a node's disk. Decision record 0017
 * states the reasons for the design.
 */
@NullMarked
package io.weir.ingest.policy.log;

import org.jspecify.annotations.NullMarked;
