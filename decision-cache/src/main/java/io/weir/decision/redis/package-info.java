// SPDX-License-Identifier: Apache-2.0
/**
 * The decision cache in Redis: one script call decides the checks of many callers. The package may
 * depend on Lettuce and Micrometer.
 *
 * <p>Keys in Redis:
 *
 * <ul>
 *   <li>{@code w1:{4:acme}:5:burst}, and with an endpoint {@code w1:{4:acme}:5:burst:13:GET
 *       /v1/items}: the state of a bucket. The length of each name precedes the name. The braces
 *       enclose only the client, so that the buckets of a client share a slot of Redis Cluster. The
 *       header of {@code bucket.lua} describes the bytes. The key expires 10 s after the bucket is
 *       full, or after its period ends.
 *   <li>{@code w1:@warm}: the {@code run_id} of the server whose state is complete, and after a dot
 *       the number of evicted keys, if any. Every script call reads it. If it is missing or
 *       different, the cache is not restored. It expires after 1 h and is renewed.
 *   <li>{@code w1:@restoring}: the node that restores the cache, for 1 min. {@code w1:@restored:}
 *       and the generation: the number of partitions that have been restored.
 * </ul>
 *
 * <p>What callers see of a failure:
 *
 * <ul>
 *   <li>No connection, a server that loads its data, a read-only replica, out of memory, or a
 *       server that may evict: {@code UNAVAILABLE} at once.
 *   <li>A server that does not answer: {@code TIMEOUT} at the deadline, then at once; whether the
 *       call was charged is unknown. After the stall timeout the connection is replaced.
 *   <li>A full queue, or a process without processor time: {@code REJECTED}; nothing was charged if
 *       the check was not sent.
 *   <li>Lost state: {@code COLD}, only for checks with an enforced bucket that is held.
 *   <li>A value that is not the state of a bucket: {@code CORRUPT}, only for the checks of that
 *       key. Delete the key; the bucket is then full.
 * </ul>
 */
@NullMarked
package io.weir.decision.redis;

import org.jspecify.annotations.NullMarked;
