// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.audit;

/**
 * The token bucket of every client. Without the cache, each node decides by its share of the
 * bucket.
 *
 * @param endpoints prefix of the limited endpoints
 * @param capacity capacity in tokens, a multiple of the number of nodes
 * @param tokensPerSecond refill rate
 * @param nodes number of ingest nodes that share the limit
 */
public record Limit(String endpoints, long capacity, long tokensPerSecond, int nodes) {}
