// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Base64;

/**
 * Names of buckets: {@code w1:{4:acme}:5:burst}, or with an endpoint {@code
 * w1:{4:acme}:5:burst:12:GET /v1/item}. The part in braces is the hash tag of Redis Cluster, so all
 * buckets of a client share a slot.
 *
 * <p>Each name stands behind its length, so that no two lists of names give one key. A name that is
 * longer than {@value #MAX_PLAIN_CHARS} characters, or holds a brace or anything but printable
 * ASCII, is replaced by 192 bits of its SHA-256 behind {@code h:}. Keys are ASCII and at most
 * {@link #MAX_CHARS} long.
 */
public final class BucketKeys {
  /** Version of the key's form and of the state kept under it. */
  public static final String VERSION = "w1";

  /** Longest name that stands in a key as it is; keeps usual names readable in a console. */
  static final int MAX_PLAIN_CHARS = 64;

  /**
   * Longest key: version, punctuation, three names of a length, a colon and 64 characters, and the
   * end of a period.
   */
  public static final int MAX_CHARS = 6 + 3 * (3 + MAX_PLAIN_CHARS) + 1 + 21;

  /** Bytes of SHA-256 kept: 192 bits, so that a collision costs 2^96 tries. */
  private static final int HASH_BYTES = 24;

  /** Characters of a hash in Base64. */
  private static final int HASH_CHARS = HASH_BYTES / 3 * 4;

  private static final String CLIENT_START = VERSION + ":{";
  private static final String CLIENT_END = "}:";

  /** Begins a name that is replaced by its hash. */
  private static final String HASHED = "h:";

  private BucketKeys() {}

  /** The bucket of a policy whose key is the client alone. */
  public static String ofClient(String policy, String client) {
    return clientPrefix(client) + part(policy);
  }

  /** The bucket of a policy whose key is client and endpoint. */
  public static String ofClientAndEndpoint(String policy, String client, String endpoint) {
    return clientPrefix(client) + part(policy) + ':' + part(endpoint);
  }

  /**
   * The bucket of one period of a quota: the policy's key and the period's end, {@code
   * w1:{4:acme}:7:monthly@1764547200}.
   */
  public static String ofPeriod(String key, long endEpochSecond) {
    return key + '@' + endEpochSecond;
  }

  /**
   * The client that a key names: its name, or {@code h:…} when the name is hashed.
   *
   * @throws IllegalArgumentException when the key is not one of ours
   */
  public static String clientPart(String key) {
    if (!key.startsWith(CLIENT_START)) {
      throw new IllegalArgumentException("not a bucket's key: " + key);
    }
    return partAt(CLIENT_START.length(), key);
  }

  /**
   * The policy that a key names: its name, or {@code h:…} when the name is hashed.
   *
   * @throws IllegalArgumentException when the key is not one of ours
   */
  public static String policyPart(String key) {
    int clientEnd = key.startsWith(CLIENT_START) ? key.indexOf(CLIENT_END) : -1;
    if (clientEnd < 0) {
      throw new IllegalArgumentException("not a bucket's key: " + key);
    }
    return partAt(clientEnd + CLIENT_END.length(), key);
  }

  private static String partAt(int start, String key) {
    try {
      if (key.startsWith(HASHED, start)) {
        return key.substring(start, start + HASHED.length() + HASH_CHARS);
      }
      int colon = key.indexOf(':', start);
      int length = Integer.parseInt(key, start, colon, 10);
      return key.substring(colon + 1, colon + 1 + length);
    } catch (NumberFormatException | IndexOutOfBoundsException malformed) {
      throw new IllegalArgumentException("not a bucket's key: " + key, malformed);
    }
  }

  /** What all keys of a client begin with. */
  public static String clientPrefix(String client) {
    return CLIENT_START + part(client) + CLIENT_END;
  }

  /** A name in the form in which it stands in a key. */
  public static String part(String name) {
    return isPlain(name) ? name.length() + ":" + name : HASHED + hash(name);
  }

  private static boolean isPlain(String name) {
    int length = name.length();
    if (length > MAX_PLAIN_CHARS) {
      return false;
    }
    for (int i = 0; i < length; i++) {
      char c = name.charAt(i);
      if (c < 0x20 || c > 0x7e || c == '{' || c == '}') {
        return false;
      }
    }
    return true;
  }

  private static String hash(String name) {
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-256").digest(name.getBytes(StandardCharsets.UTF_8));
      return Base64.getUrlEncoder().encodeToString(Arrays.copyOf(digest, HASH_BYTES));
    } catch (NoSuchAlgorithmException missing) {
      throw new IllegalStateException("every Java platform has SHA-256", missing);
    }
  }
}
