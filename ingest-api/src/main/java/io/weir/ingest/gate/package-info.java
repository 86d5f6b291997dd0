// SPDX-License-Identifier: Apache-2.0
/**
 * Decides calls and records them, without I/O of its own. Depends on the model of the module {@code
 * topics}, the interfaces and the in-memory implementation of the decision cache, Micrometer and
 * the nullness annotations.
 */
@NullMarked
package io.weir.ingest.gate;

import org.jspecify.annotations.NullMarked;
