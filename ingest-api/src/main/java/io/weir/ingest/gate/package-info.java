// SPDX-License-Identifier: Apache-2.0
/**
 * Pure: decide a call, then record it. Depends on the model of the topics, the decision port, its
 * home in memory and the nullness annotations.
 */
@NullMarked
package io.weir.ingest.gate;

import org.jspecify.annotations.NullMarked;
