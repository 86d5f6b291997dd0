// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

/**
 * Usage that a client reports after the fact; Weir makes no decision on it.
 *
 * @param id identifies the usage for its client; the same in each report of it; a name
 * @param client the client that used it; a name
 * @param endpoint the used endpoint; a name
 * @param meter the meter that counts it; a name
 * @param quantity quantity in units of the meter, 0 to 2^53 − 1
 * @param atEpochMillis time of the usage
 */
public record Usage(
    String id, String client, String endpoint, String meter, long quantity, long atEpochMillis) {}
