// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import org.jspecify.annotations.Nullable;

/**
 * The key under which the cache stores the slots of a {@link ConcurrencyLimit}. Weir does not
 * record slots. Example: {@code w1:{4:acme}:7:reports@slots}. Immutable.
 *
 * @param client the client; null if clients share the slots
 * @param policy the policy
 * @param text the whole key
 */
public record SlotKey(BucketKey.@Nullable Part client, BucketKey.Part policy, String text) {
  private static final String SUFFIX = BucketKey.ofSlots("");
  private static final String CLIENT_START = BucketKey.VERSION + ":{";

  /**
   * Maximum length of a key. The longest key has a client, a policy, a plan, an endpoint and a
   * network.
   */
  public static final int MAX_CHARS = 400;

  /**
   * Parses a key.
   *
   * @throws IllegalArgumentException if the text is not the key of slots, for example if it is the
   *     key of a token bucket
   */
  public static SlotKey parse(String text) {
    if (text.length() > MAX_CHARS
        || !text.startsWith(CLIENT_START)
        || !text.endsWith(SUFFIX)
        || !text.chars().allMatch(c -> c >= 0x20 && c <= 0x7e)) {
      throw notOurs(text);
    }
    try {
      SlotKey key = new Reader(text).read();
      if (!key.text.equals(text)) {
        throw notOurs(text); // another text of the same key
      }
      return key;
    } catch (NumberFormatException | IndexOutOfBoundsException malformed) {
      throw notOurs(text);
    }
  }

  private static IllegalArgumentException notOurs(String text) {
    return new IllegalArgumentException("the text is not a valid key of slots: " + text);
  }

  /** Reader of the parts of a key. The reader also composes the key from the parts. */
  private static final class Reader {
    private final String text;
    private int at = CLIENT_START.length();

    Reader(String text) {
      this.text = text;
    }

    SlotKey read() {
      boolean isShared = text.charAt(at) == '*';
      BucketKey.Part client = null;
      if (isShared) {
        at++;
      } else {
        client = part();
        at += 2; // skips the end of the hash tag; the final comparison of the whole key checks it
      }
      BucketKey.Part policy = part();
      BucketKey.Part plan = partAfter('+');
      BucketKey.Part endpoint = partAfter(':');
      IpNetwork network = network(isShared ? '}' : SUFFIX.charAt(0));
      return new SlotKey(
          client,
          policy,
          BucketKey.ofSlots(
              BucketKey.cacheOnlyText(client, policy.keyText(), plan, endpoint, network)));
    }

    private BucketKey.Part part() {
      BucketKey.Part part = BucketKey.Part.parse(text, at);
      boolean isPart =
          part.isHashed()
              ? BucketKey.Part.isHash(part.text())
              : !part.text().isEmpty() && part.equals(BucketKey.Part.of(part.text()));
      if (!isPart) {
        throw notOurs(text); // the name is too long or contains a brace
      }
      at += part.keyChars();
      return part;
    }

    private BucketKey.@Nullable Part partAfter(char sign) {
      if (text.charAt(at) != sign) {
        return null;
      }
      at++;
      return part();
    }

    private @Nullable IpNetwork network(char end) {
      if (text.charAt(at) != '|') {
        return null;
      }
      return IpNetwork.parse(text.substring(at + 1, text.indexOf(end, at)));
    }
  }
}
