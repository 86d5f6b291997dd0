// SPDX-License-Identifier: Apache-2.0
/**
 * Decides calls and records them, without I/O of its own. Depends on the model of the module {@code
 * topics}, on Micrometer and on the nullness annotations. Of the decision cache, this package uses
 * only the interfaces and the in-memory implementation.
 */
@NullMarked
package io.weir.ingest.gate;

import org.jspecify.annotations.NullMarked;
