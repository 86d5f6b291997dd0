// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

/**
 * Past usage of a client, which Weir records without a decision.
 *
 * @param id id of the usage, a name; it is unique among the client's ids, and every report of the
 *     same usage has this id
 * @param client the client, a name
 * @param endpoint the used endpoint, a name
 * @param meter the meter that counts the usage, a name
 * @param quantity quantity in units of the meter, 0 to 2^53 − 1
 * @param atEpochMillis time of the usage
 */
public record Usage(
    String id, String client, String endpoint, String meter, long quantity, long atEpochMillis) {}
