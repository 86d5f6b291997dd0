// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import org.jspecify.annotations.Nullable;

/**
 * A call that asks whether it may pass.
 *
 * @param client who calls
 * @param endpoint what is called
 * @param meter what is counted
 * @param cost tokens it takes, ≥ 1
 * @param id the caller's idempotency key; null when the server shall make one
 * @param ipPrefix the caller's network; null when not given
 */
public record Call(
    String client,
    String endpoint,
    String meter,
    long cost,
    @Nullable String id,
    @Nullable String ipPrefix) {}
