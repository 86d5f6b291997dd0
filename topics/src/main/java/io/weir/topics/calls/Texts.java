// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.calls;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The texts of all blocks of one batch. A cache keeps texts of earlier batches, so equal texts are
 * usually the same string. This makes comparisons fast, and a string computes its hash only once.
 * Not thread-safe.
 */
final class Texts {
  /** Number of slots of the cache, a power of two. */
  private static final int SLOTS = 4 * 1024;

  /** Maximum size of a cached text, in bytes. */
  private static final int MAX_CACHED_BYTES = 256;

  private static final int INITIAL_SIZE = 16;

  private @Nullable String[] texts = new String[INITIAL_SIZE];
  private long[] digests = new long[INITIAL_SIZE];
  private int count;

  /** The cache; null until the first text is decoded. */
  private @Nullable String @Nullable [] known;

  int count() {
    return count;
  }

  /** Removes all texts, and frees the memory of an unusually large batch. */
  void clear() {
    if (texts.length > Column.MAX_KEPT) {
      texts = new String[INITIAL_SIZE];
      digests = new long[INITIAL_SIZE];
    } else {
      Arrays.fill(texts, 0, count, null);
    }
    count = 0;
  }

  /** Returns the text with a number; null for the number 0. */
  @Nullable String get(int number) {
    return number == 0 ? null : texts[number - 1];
  }

  /** Returns the number of UTF-16 units of the text with a number; 0 for the number 0. */
  int length(int number) {
    String text = get(number);
    return text == null ? 0 : text.length();
  }

  /** Returns the digest of the text with a number; 0 for the number 0. */
  long digest(int number) {
    return number == 0 ? 0 : digests[number - 1];
  }

  /** Adds a text, and returns its number. Writers need no digest, so the digest is 0. */
  int add(String text) {
    return add(text, 0);
  }

  private int add(String text, long digest) {
    if (count == digests.length) {
      texts = Arrays.copyOf(texts, 2 * count);
      digests = Arrays.copyOf(digests, 2 * count);
    }
    texts[count] = text;
    digests[count] = digest;
    return ++count;
  }

  /**
   * Adds the text that a range of bytes represents.
   *
   * @throws CharacterCodingException if the bytes are not UTF-8
   */
  void add(byte[] bytes, int start, int length) throws CharacterCodingException {
    long digest = Digest.ofBytes(bytes, start, length);
    add(text(bytes, start, length, digest), digest);
  }

  private String text(byte[] bytes, int start, int length, long digest)
      throws CharacterCodingException {
    if (!isAscii(bytes, start, length)) {
      return StandardCharsets.UTF_8
          .newDecoder()
          .decode(ByteBuffer.wrap(bytes, start, length))
          .toString();
    }
    if (length > MAX_CACHED_BYTES) {
      return new String(bytes, start, length, StandardCharsets.ISO_8859_1);
    }
    @Nullable String[] cache = known;
    if (cache == null) {
      cache = new String[SLOTS];
      known = cache;
    }
    int slot = (int) (digest ^ (digest >>> 17) ^ (digest >>> 41)) & (SLOTS - 1);
    String cached = cache[slot];
    if (cached != null && isText(cached, bytes, start, length)) {
      return cached;
    }
    String text = new String(bytes, start, length, StandardCharsets.ISO_8859_1);
    cache[slot] = text;
    return text;
  }

  private static boolean isAscii(byte[] bytes, int start, int length) {
    int any = 0;
    for (int i = start; i < start + length; i++) {
      any |= bytes[i];
    }
    return any >= 0;
  }

  private static boolean isText(String text, byte[] bytes, int start, int length) {
    if (text.length() != length) {
      return false;
    }
    for (int i = 0; i < length; i++) {
      if (text.charAt(i) != bytes[start + i]) {
        return false;
      }
    }
    return true;
  }
}
