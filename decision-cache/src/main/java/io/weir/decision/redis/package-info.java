// SPDX-License-Identifier: Apache-2.0
/**
 * The decision cache in Redis. One script call decides the checks of many callers. The package may
 * depend on Lettuce and Micrometer.
 *
 * <p>Keys in Redis:
 *
 * <ul>
 *   <li>{@code w1:{4:acme}:5:burst}, and with an endpoint {@code w1:{4:acme}:5:burst:13:GET
 *       /v1/items}: the state of a bucket. The length of each name precedes the name. The braces
 *       enclose only the client: the buckets of a client therefore share a slot of Redis Cluster.
 *       The header of {@code bucket.lua} describes the bytes of the value. The key expires 10 s
 *       after the bucket is full, or 10 s after the period ends.
 *   <li>{@code w1:@warm}: the marker with the {@code run_id} of the server on which the state is
 *       complete. If the server has evicted keys, a dot and their number follow. Every script call
 *       reads the marker. If the marker is missing or different, the cache is not restored. The
 *       marker expires after 1 h and is renewed.
 *   <li>{@code w1:@restoring}: the generation that is being restored. {@code w1:@restored:} and the
 *       generation: the set of partitions that have been restored. The keys of a restoration expire
 *       after 1 min without progress.
 * </ul>
 *
 * <p>The decision on a check if the cache fails:
 *
 * <ul>
 *   <li>{@code UNAVAILABLE}, immediately: there is no connection, or the server cannot be used.
 *       Such a server loads its data, is a read-only replica, is out of memory, or may evict
 *       buckets.
 *   <li>{@code TIMEOUT}, at the deadline: the server does not reply. The server may have charged
 *       the call. Until the next reply, other checks get {@code TIMEOUT} immediately. After the
 *       stall timeout, the link replaces the connection.
 *   <li>{@code REJECTED}: the queue is full, or the process gets no processor time. A check that
 *       was not sent charged nothing.
 *   <li>{@code COLD}: the cache is not restored, and an enforced policy of the check has {@code
 *       on_cold_cache: hold}.
 *   <li>{@code CORRUPT}: the value of a key of the check is not the state of a bucket. To repair
 *       the bucket, delete the key; the bucket is then full.
 * </ul>
 */
@NullMarked
package io.weir.decision.redis;

import org.jspecify.annotations.NullMarked;
