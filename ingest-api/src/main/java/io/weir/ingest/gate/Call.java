// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import org.jspecify.annotations.Nullable;

/**
 * A call whose admission is requested.
 *
 * @param client the calling client
 * @param endpoint the called endpoint
 * @param meter the meter that counts the call
 * @param cost tokens that the call takes, ≥ 1
 * @param id the caller's idempotency key; null if the server shall create one
 * @param ipPrefix the caller's network; null if not given
 */
public record Call(
    String client,
    String endpoint,
    String meter,
    long cost,
    @Nullable String id,
    @Nullable String ipPrefix) {}
