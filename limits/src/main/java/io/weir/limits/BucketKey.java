// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Base64;
import org.jspecify.annotations.Nullable;

/**
 * The key of a recorded bucket. A key consists of the client and the policy. If each endpoint has
 * its own bucket, the key also contains the endpoint. If each period has its own bucket, the key
 * also contains the end of the period. Immutable.
 *
 * <p>Buckets that several clients share, and buckets of an address, are not recorded. The keys of
 * such buckets exist only in the cache; see {@link #cacheOnlyText}.
 *
 * <p>The cache and the records use the text form. Example: {@code w1:{4:acme}:5:burst}; with an
 * endpoint, {@code w1:{4:acme}:5:burst:12:GET /v1/item}; for a period, {@code
 * w1:{4:acme}:7:monthly@1764547200}. The part in braces is the hash tag of Redis Cluster, so all
 * buckets of a client are in one hash slot. The length of each name precedes the name, so different
 * keys always have different texts.
 *
 * @param client the calling client
 * @param policy the policy that limits the client
 * @param endpoint the called endpoint; null if all endpoints share the bucket
 * @param endEpochSecond end of the bucket's period, in seconds since 1970; 0 for a bucket without a
 *     period
 */
public record BucketKey(Part client, Part policy, @Nullable Part endpoint, long endEpochSecond) {
  /** Version of the text form, and of the state that the cache stores under the key. */
  public static final String VERSION = "w1";

  /**
   * Maximum length of the text. The maximum covers the version, the punctuation, three names and
   * the end of a period. Each name has a length, a colon and at most 64 characters.
   */
  public static final int MAX_CHARS = 6 + 3 * (3 + Part.MAX_PLAIN_CHARS) + 1 + 21;

  private static final String CLIENT_START = VERSION + ":{";
  private static final String CLIENT_END = "}:";
  private static final char SHARED = '*';
  private static final char PLAN_START = '+';
  private static final char NETWORK_START = '|';
  private static final char PERIOD_START = '@';
  private static final String LOG = "@log";
  private static final String SLOTS = "@slots";

  /**
   * The form of a name within a key. A name is hashed if it is longer than {@value
   * #MAX_PLAIN_CHARS} characters, or contains a brace or a character that is not printable ASCII. A
   * hashed name is {@code h:} followed by 192 bits of the name's SHA-256. A key is therefore ASCII
   * and at most {@link #MAX_CHARS} long.
   *
   * @param text the name, or its hash
   * @param isHashed whether {@code text} is the hash
   */
  public record Part(String text, boolean isHashed) {
    /**
     * Maximum length of a name that is not hashed. Usual names are shorter, and therefore readable
     * in the Redis console.
     */
    static final int MAX_PLAIN_CHARS = 64;

    /**
     * Number of bytes of the SHA-256 in a key. With 192 bits, an attacker needs 2^96 attempts to
     * find a collision.
     */
    private static final int HASH_BYTES = 24;

    /** Length of a hash in Base64, in characters. */
    static final int HASH_CHARS = HASH_BYTES / 3 * 4;

    /** Prefix of a hash that replaces a name. */
    private static final String HASHED = "h:";

    /** Returns the part that represents a name. */
    public static Part of(String name) {
      return isPlain(name) ? new Part(name, false) : new Part(hash(name), true);
    }

    /** Returns the text for display: the name, or {@code h:…} if it is hashed. */
    public String shown() {
      return isHashed ? HASHED + text : text;
    }

    /** Returns the text of this part within a key. */
    public String keyText() {
      return isHashed ? HASHED + text : text.length() + ":" + text;
    }

    int keyChars() {
      return isHashed
          ? HASHED.length() + text.length()
          : Integer.toString(text.length()).length() + 1 + text.length();
    }

    static Part parse(String key, int start) {
      if (key.startsWith(HASHED, start)) {
        int from = start + HASHED.length();
        return new Part(key.substring(from, from + HASH_CHARS), true);
      }
      int colon = key.indexOf(':', start);
      int length = Integer.parseInt(key, start, colon, 10);
      return new Part(key.substring(colon + 1, colon + 1 + length), false);
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

    /** Returns whether a text has the form of a hash. */
    static boolean isHash(String text) {
      return text.length() == HASH_CHARS
          && text.chars()
              .allMatch(
                  c ->
                      (c >= 'a' && c <= 'z')
                          || (c >= 'A' && c <= 'Z')
                          || (c >= '0' && c <= '9')
                          || c == '-'
                          || c == '_');
    }

    /** Returns 192 bits of a text's SHA-256 in Base64 for URLs. */
    static String hash(String name) {
      try {
        byte[] digest =
            MessageDigest.getInstance("SHA-256").digest(name.getBytes(StandardCharsets.UTF_8));
        return Base64.getUrlEncoder().encodeToString(Arrays.copyOf(digest, HASH_BYTES));
      } catch (NoSuchAlgorithmException missing) {
        throw new IllegalStateException("this Java platform does not provide SHA-256", missing);
      }
    }
  }

  /** Returns the key of a client's bucket, for a policy with one bucket per client. */
  public static BucketKey of(String policy, String client) {
    return new BucketKey(Part.of(client), Part.of(policy), null, 0);
  }

  /**
   * Returns the key of a client's bucket for one endpoint, for a policy with one bucket per client
   * and endpoint.
   */
  public static BucketKey of(String policy, String client, String endpoint) {
    return new BucketKey(Part.of(client), Part.of(policy), Part.of(endpoint), 0);
  }

  /**
   * Parses the text of a key.
   *
   * @throws IllegalArgumentException if the text is not a valid key
   */
  public static BucketKey parse(String text) {
    if (!text.startsWith(CLIENT_START)) {
      throw notOurs(text, null);
    }
    try {
      Part client = Part.parse(text, CLIENT_START.length());
      int clientEnd = CLIENT_START.length() + client.keyChars();
      if (!text.startsWith(CLIENT_END, clientEnd)) {
        throw notOurs(text, null);
      }
      int policyStart = clientEnd + CLIENT_END.length();
      Part policy = Part.parse(text, policyStart);
      int at = policyStart + policy.keyChars();
      Part endpoint = null;
      if (at < text.length() && text.charAt(at) == ':') {
        endpoint = Part.parse(text, at + 1);
        at += 1 + endpoint.keyChars();
      }
      long end = 0;
      if (at < text.length()) {
        if (text.charAt(at) != PERIOD_START) {
          throw notOurs(text, null);
        }
        end = Long.parseLong(text, at + 1, text.length(), 10);
      }
      BucketKey key = new BucketKey(client, policy, endpoint, end);
      if (end < 0 || hasEmptyPart(key) || !key.text().equals(text)) {
        throw notOurs(text, null); // another text of the same key
      }
      return key;
    } catch (NumberFormatException | IndexOutOfBoundsException malformed) {
      throw notOurs(text, malformed);
    }
  }

  /**
   * Returns the display name of the policy in a key's text; null if the text is not a valid key.
   */
  public static @Nullable String policyShown(String text) {
    try {
      return parse(text).policy().shown();
    } catch (IllegalArgumentException foreign) {
      return null;
    }
  }

  private static boolean hasEmptyPart(BucketKey key) {
    Part endpoint = key.endpoint;
    return key.client.text.isEmpty()
        || key.policy.text.isEmpty()
        || (endpoint != null && endpoint.text.isEmpty());
  }

  private static IllegalArgumentException notOurs(String text, @Nullable Throwable cause) {
    return new IllegalArgumentException("the text is not a valid bucket key: " + text, cause);
  }

  /** Returns the key of one period's bucket, with the same client, policy and endpoint. */
  public BucketKey in(long periodEndEpochSecond) {
    return new BucketKey(client, policy, endpoint, periodEndEpochSecond);
  }

  /** Returns the prefix that all keys of a client have in their text form. */
  public static String clientPrefix(String client) {
    return clientPrefix(Part.of(client));
  }

  private static String clientPrefix(Part client) {
    return CLIENT_START + client.keyText() + CLIENT_END;
  }

  /** Returns the text form. */
  public String text() {
    return text(clientPrefix(client), policy.keyText(), endpoint, endEpochSecond);
  }

  /**
   * Returns the text form of the key with the given parts.
   *
   * @param clientPrefix the result of {@link #clientPrefix}
   * @param policyText the policy's {@link Part#keyText}
   */
  public static String text(
      String clientPrefix, String policyText, @Nullable Part endpoint, long endEpochSecond) {
    String key = clientPrefix + policyText;
    String whole = endpoint == null ? key : key + ':' + endpoint.keyText();
    return endEpochSecond == 0 ? whole : whole + PERIOD_START + endEpochSecond;
  }

  /**
   * Returns the key of a bucket that Weir does not record. The key excludes the bucket's period.
   * The key differs from the text of every {@link BucketKey}. No two buckets have the same key. The
   * length of each name precedes the name, and each kind of part begins with its own character.
   * Without a client, the whole key except the period is the hash tag. Buckets without a client are
   * therefore spread over the hash slots of Redis Cluster. Example with the period: {@code
   * w1:{*5:burst:12:GET /v1/item|203.0.113.7/32}@1764547200}.
   *
   * @param client the client; null if clients share the bucket
   * @param policyText the policy's {@link Part#keyText}
   * @param plan the plan whose clients share the bucket; null if the bucket does not depend on the
   *     plan
   * @param endpoint the called endpoint; null if all endpoints share the bucket
   * @param network the caller's network; null if all networks share the bucket
   */
  public static String cacheOnlyText(
      @Nullable Part client,
      String policyText,
      @Nullable Part plan,
      @Nullable Part endpoint,
      @Nullable IpNetwork network) {
    StringBuilder text = new StringBuilder();
    text.append(client == null ? CLIENT_START + SHARED : clientPrefix(client)).append(policyText);
    if (plan != null) {
      text.append(PLAN_START).append(plan.keyText());
    }
    if (endpoint != null) {
      text.append(':').append(endpoint.keyText());
    }
    if (network != null) {
      text.append(NETWORK_START).append(network);
    }
    if (client == null) {
      text.append('}');
    }
    return text.toString();
  }

  /** Returns the key of one period's bucket. */
  public static String inPeriod(String text, PeriodicLimit.Span period) {
    return text + PERIOD_START + period.endEpochSecond();
  }

  /**
   * Returns the end of the period in a key's text, in seconds since 1970.
   *
   * @throws IllegalArgumentException if the bucket has no period
   */
  static long endEpochSecond(String text) {
    try {
      return Long.parseLong(text, periodStart(text) + 1, text.length(), 10);
    } catch (NumberFormatException malformed) {
      throw notOurs(text, malformed);
    }
  }

  /** Returns a key's text with another end of the period. */
  static String inPeriod(String text, long endEpochSecond) {
    return text.substring(0, periodStart(text) + 1) + endEpochSecond;
  }

  private static int periodStart(String text) {
    int start = text.lastIndexOf(PERIOD_START);
    if (start < 0) {
      throw new IllegalArgumentException(
          "the bucket key must have a period ('"
              + PERIOD_START
              + "' and its end), but is '"
              + text
              + "'");
    }
    return start;
  }

  /**
   * Returns the key of the log of a bucket without a period. A log has its own Redis type, so the
   * key must differ from the text of every {@link BucketKey}.
   */
  public static String ofLog(String text) {
    return text + LOG;
  }

  /**
   * Returns the key of the slots of a {@link ConcurrencyLimit}; see {@link SlotKey}. Slots have
   * their own Redis type, so the key must differ from the text of every {@link BucketKey}.
   */
  static String ofSlots(String text) {
    return text + SLOTS;
  }

  /** Returns whether several clients share the bucket with the given key. */
  public static boolean isShared(String text) {
    return text.startsWith(CLIENT_START + SHARED);
  }

  /**
   * Returns the owner of the bucket with the given key: the client, or the policy if several
   * clients share the bucket. The memory cache counts the buckets of each owner.
   */
  public static String ownerOf(String text) {
    int policyStart = CLIENT_START.length() + 1;
    if (text.startsWith(CLIENT_START + SHARED)) {
      try {
        return text.substring(0, policyStart + Part.parse(text, policyStart).keyChars());
      } catch (NumberFormatException | IndexOutOfBoundsException foreign) {
        return text;
      }
    }
    int end = text.indexOf('}');
    return end < 0 ? text : text.substring(0, end);
  }

  @Override
  public String toString() {
    return text();
  }
}
