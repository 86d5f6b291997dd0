// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

/**
 * What a client has used, told after it has happened: nothing is decided.
 *
 * @param id identifies the usage for its client, the same each time it is told; a name
 * @param client who has used it; a name
 * @param endpoint of what; a name
 * @param meter what is counted; a name
 * @param quantity how much, in units of the meter, 0 to 2^53 − 1
 * @param atEpochMillis when it has happened
 */
public record Usage(
    String id, String client, String endpoint, String meter, long quantity, long atEpochMillis) {}
