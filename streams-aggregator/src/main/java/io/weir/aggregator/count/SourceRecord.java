// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A record of the calls topic, not checked yet.
 *
 * @param offset its offset
 * @param appendEpochMillis the broker's time
 * @param value its value; null if it has none
 * @param headers returns the value of a header by name; null if it is absent
 */
@SuppressWarnings("ArrayRecordComponent") // never compared, never changed
public record SourceRecord(
    long offset,
    long appendEpochMillis,
    byte @Nullable [] value,
    Function<String, byte @Nullable []> headers) {}
