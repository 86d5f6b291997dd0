// SPDX-License-Identifier: Apache-2.0
/**
 * Proofs that the decision cache heals: real servers, two ingest nodes, load from several threads,
 * and an oracle that replays the true order of all calls by itself.
 */
@NullMarked
package io.weir.e2e.healing;

import org.jspecify.annotations.NullMarked;
