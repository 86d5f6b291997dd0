// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.audit;

/**
 * A token bucket that every client has, decided by each node's share without the cache.
 *
 * @param endpoints how the endpoints begin whose calls it limits
 * @param capacity tokens, a multiple of the nodes
 * @param tokensPerSecond how fast it refills
 * @param nodes how many ingest nodes share it
 */
public record Limit(String endpoints, long capacity, long tokensPerSecond, int nodes) {}
