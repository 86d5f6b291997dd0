// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A record of the calls topic that is not yet checked.
 *
 * @param offset the offset
 * @param appendEpochMillis the broker's time
 * @param value the value; null if the record has none
 * @param headers returns the value of a header by its name, or null if the header is absent
 */
@SuppressWarnings("ArrayRecordComponent") // arrays are never compared or changed
public record SourceRecord(
    long offset,
    long appendEpochMillis,
    byte @Nullable [] value,
    Function<String, byte @Nullable []> headers) {}
