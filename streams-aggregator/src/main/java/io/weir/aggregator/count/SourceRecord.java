// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A record of the calls topic as it was read, before any of it is checked.
 *
 * @param offset its offset
 * @param appendEpochMillis when the broker took it
 * @param value its value; null when it has none
 * @param headers gives the value of a header by its name; null when there is none
 */
@SuppressWarnings("ArrayRecordComponent") // never compared, never changed
public record SourceRecord(
    long offset,
    long appendEpochMillis,
    byte @Nullable [] value,
    Function<String, byte @Nullable []> headers) {}
