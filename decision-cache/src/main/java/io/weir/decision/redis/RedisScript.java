// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * A script and the digest by which a server identifies it. Immutable.
 *
 * @param body the source
 * @param sha1 SHA-1 of the source in hexadecimal
 */
record RedisScript(String body, String sha1) {
  /** The part that the scripts on buckets share. */
  private static final String BUCKET = "bucket.lua";

  /** Returns the script that decides checks. */
  static RedisScript takeTokens() {
    return of(BUCKET, "take_tokens.lua");
  }

  /** Returns the script that corrects buckets. */
  static RedisScript correctBuckets() {
    return of(BUCKET, "correct_buckets.lua");
  }

  /** Returns the concatenation of the given resources, which are located beside this class. */
  static RedisScript of(String... resources) {
    StringBuilder body = new StringBuilder();
    for (String resource : resources) {
      body.append(read(resource));
    }
    return ofBody(body.toString());
  }

  private static String read(String resource) {
    try (InputStream in = RedisScript.class.getResourceAsStream(resource)) {
      if (in == null) {
        throw new IllegalStateException("resource is missing: " + resource);
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  static RedisScript ofBody(String body) {
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-1").digest(body.getBytes(StandardCharsets.UTF_8));
      return new RedisScript(body, HexFormat.of().formatHex(digest));
    } catch (NoSuchAlgorithmException missing) {
      throw new IllegalStateException("every Java platform has SHA-1", missing);
    }
  }
}
