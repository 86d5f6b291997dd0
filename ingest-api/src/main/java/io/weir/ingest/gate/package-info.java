// SPDX-License-Identifier: Apache-2.0
/**
 * Decides a call, then records it, without I/O of its own. Depends on the model of the topics, the
 * decision port, its in-memory implementation, Micrometer and the nullness annotations.
 */
@NullMarked
package io.weir.ingest.gate;

import org.jspecify.annotations.NullMarked;
