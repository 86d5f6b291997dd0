// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.weir.decision.correction.CacheLife;
import io.weir.decision.correction.CacheUnavailableException;
import io.weir.topics.model.CacheRestored;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Determines whether a decision cache on a Redis server is restored. The marker contains the
 * server's {@code run_id}. A restart or a failover changes the {@code run_id}, and a flush deletes
 * the marker. The name of a generation is the run ID of the server that is being restored, a dash,
 * and a random text. Thread-safe.
 *
 * <p>This object and the cache share a connection, and therefore use the same server. Each call
 * waits at most for the stall timeout of the cache. If a server does not report its run ID, the run
 * ID {@code unknown} is used. Weir then detects a flush of the server, but not a restart.
 */
public final class RedisCacheLife implements CacheLife {
  /** Time to live of the marker. If no node runs for this time, the cache becomes cold. */
  static final Duration MARKER_TTL = Duration.ofHours(1);

  /**
   * Maximum time for which a restoration may make no progress. After this time, any node may begin
   * another restoration.
   */
  static final Duration RESTORATION_TTL = Duration.ofMinutes(1);

  private final RedisLink link;
  private final ColdSignal coldSignal;
  private final BlockingScript look;
  private final BlockingScript begin;
  private final BlockingScript abandon;
  private final BlockingScript note;

  private RedisCacheLife(RedisDecisionCache cache, Duration timeout) {
    this.link = cache.link();
    this.coldSignal = cache.coldSignal();
    this.look = script("look_at_marker.lua", cache, timeout);
    this.begin = script("begin_restoration.lua", cache, timeout);
    this.abandon = script("abandon_restoration.lua", cache, timeout);
    this.note = script("note_restored.lua", cache, timeout);
  }

  /** Creates an instance for a cache. The instance must not be used after the cache is closed. */
  public static RedisCacheLife of(RedisDecisionCache cache) {
    return of(cache, cache.stallTimeout());
  }

  /**
   * Creates an instance for a cache, with another timeout.
   *
   * @param timeout maximum time that each call waits
   */
  static RedisCacheLife of(RedisDecisionCache cache, Duration timeout) {
    return new RedisCacheLife(cache, timeout);
  }

  private static BlockingScript script(String name, RedisDecisionCache cache, Duration timeout) {
    return new BlockingScript(
        RedisScript.of(ServerKind.SINGLE, name), cache.link(), cache.watch(), timeout);
  }

  @Override
  public Warmth look() {
    if (!link.lookAtServer()) {
      return Warmth.UNKNOWN;
    }
    String life = link.life();
    try {
      boolean warm = isYes(look.call(keys(LifeKeys.marker()), bytes(life), bytes(MARKER_TTL)));
      coldSignal.looked(warm);
      return warm ? Warmth.WARM : Warmth.COLD;
    } catch (CacheUnavailableException away) {
      return Warmth.UNKNOWN;
    }
  }

  @Override
  public void awaitColdSignal(Duration atMost) throws InterruptedException {
    coldSignal.await(atMost);
  }

  @Override
  public @Nullable String beginRestoration() throws CacheUnavailableException {
    String life = link.life();
    String generation = life + "-" + UUID.randomUUID();
    byte[] reply =
        begin.call(
            keys(LifeKeys.marker(), LifeKeys.restoring()),
            bytes(life),
            bytes(generation),
            bytes(RESTORATION_TTL));
    return isYes(reply) ? generation : null;
  }

  @Override
  public void abandonRestoration(String generation) throws CacheUnavailableException {
    // if another node has begun a restoration in the meantime, this call has no effect
    var unused =
        abandon.call(keys(LifeKeys.restoring(), LifeKeys.restored(generation)), bytes(generation));
  }

  @Override
  public boolean noteRestored(CacheRestored restored) throws CacheUnavailableException {
    boolean warm =
        isYes(
            note.call(
                keys(
                    LifeKeys.marker(),
                    LifeKeys.restoring(),
                    LifeKeys.restored(restored.generation())),
                bytes(link.life()),
                bytes(restored.generation()),
                bytes(Integer.toString(restored.partition())),
                bytes(Integer.toString(restored.partitions())),
                bytes(MARKER_TTL),
                bytes(RESTORATION_TTL)));
    coldSignal.looked(warm);
    return warm;
  }

  static boolean isYes(byte @Nullable [] reply) {
    return reply != null && reply.length == 1 && reply[0] == '1';
  }

  static byte[][] keys(byte[]... keys) {
    return keys;
  }

  static byte[] bytes(Duration duration) {
    return bytes(Long.toString(duration.toMillis()));
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** Does nothing, because the cache closes its connection. */
  @Override
  public void close() {}
}
