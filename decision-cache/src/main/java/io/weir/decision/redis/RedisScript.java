// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.RedisFuture;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/**
 * A Lua script, and its digest. A server identifies a script by the digest. Immutable.
 *
 * @param sha1 SHA-1 of the source in hexadecimal
 * @param kind the kind of servers that run the script
 */
record RedisScript(String body, String sha1, ServerKind kind) {
  /** The shared part of the scripts on buckets. */
  private static final String BUCKET = "bucket.lua";

  /** The part of the take script that implements slots. */
  private static final String SLOTS = "slots.lua";

  /** The part that precedes every script for a server of a cluster. */
  private static final String OF_CLUSTER = "of_cluster.lua";

  private static final byte[][] NO_KEYS = {};

  /** Returns the script that decides checks on a single server. */
  static RedisScript takeTokens() {
    return takeTokens(ServerKind.SINGLE);
  }

  /** Returns the script that decides checks. */
  static RedisScript takeTokens(ServerKind kind) {
    return of(kind, BUCKET, SLOTS, "take_tokens.lua");
  }

  /** Returns the script that corrects buckets. */
  static RedisScript correctBuckets(ServerKind kind) {
    return of(kind, BUCKET, "correct_buckets.lua");
  }

  /**
   * Returns the script that finds commands which the other scripts need, but the user must not run.
   */
  static RedisScript findForbidden(ServerKind kind) {
    return of(kind, "find_forbidden.lua");
  }

  /** Returns the concatenation of the given resources in the package of this class. */
  static RedisScript of(ServerKind kind, String... resources) {
    StringBuilder body = new StringBuilder();
    if (kind == ServerKind.OF_CLUSTER) {
      body.append(read(OF_CLUSTER));
    }
    for (String resource : resources) {
      body.append(read(resource));
    }
    return ofBody(body.toString(), kind);
  }

  /**
   * Sends a call of this script over a connection.
   *
   * @param markers number of markers at the beginning of the keys; at most 1 for a single server.
   *     On a server of a cluster, the script receives only one of the markers: a marker without the
   *     server's run ID if there is one, otherwise the first marker
   */
  RedisFuture<byte @Nullable []> send(
      StatefulRedisConnection<byte[], byte[]> connection,
      int markers,
      byte[][] keys,
      byte[][] arguments) {
    if (kind == ServerKind.SINGLE) {
      return connection.async().evalsha(sha1, ScriptOutputType.VALUE, keys, arguments);
    }
    byte[][] all = new byte[2 + keys.length + arguments.length][];
    all[0] = number(keys.length);
    all[1] = number(markers);
    System.arraycopy(keys, 0, all, 2, keys.length);
    System.arraycopy(arguments, 0, all, 2 + keys.length, arguments.length);
    return connection.async().evalsha(sha1, ScriptOutputType.VALUE, NO_KEYS, all);
  }

  private static byte[] number(int number) {
    return Integer.toString(number).getBytes(StandardCharsets.US_ASCII);
  }

  private static String read(String resource) {
    try (InputStream in = RedisScript.class.getResourceAsStream(resource)) {
      if (in == null) {
        throw new IllegalStateException("the resource is missing: " + resource);
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  static RedisScript ofBody(String body, ServerKind kind) {
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-1").digest(body.getBytes(StandardCharsets.UTF_8));
      return new RedisScript(body, HexFormat.of().formatHex(digest), kind);
    } catch (NoSuchAlgorithmException missing) {
      throw new IllegalStateException("this Java platform does not provide SHA-1", missing);
    }
  }
}
