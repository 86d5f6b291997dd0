// SPDX-License-Identifier: Apache-2.0
/**
 * Pure: decides a call, then records it. Depends on the model of the topics, the decision port, its
 * in-memory implementation, the meters it counts in and the nullness annotations.
 */
@NullMarked
package io.weir.ingest.gate;

import org.jspecify.annotations.NullMarked;
