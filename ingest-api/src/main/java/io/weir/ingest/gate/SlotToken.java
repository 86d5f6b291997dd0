// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.limits.SlotClaim;
import io.weir.limits.SlotKey;
import io.weir.limits.check.Check;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

/**
 * What a caller is given to renew and release the slots of a call, and what any node needs for it.
 * It names nothing but keys of slots, and it is no secret: whoever may ask for checks may make one.
 * Immutable.
 *
 * @param claim the holder, and when its lease ends as far as the caller was told
 * @param keys the keys of the slots, 1 to {@value Check#MAX_BUCKETS}, which are distinct and of one
 *     client at most
 */
public record SlotToken(SlotClaim claim, List<SlotKey> keys) {
  /** Longest text. */
  public static final int MAX_CHARS = 9_000;

  private static final byte VERSION = 1;
  private static final int HEAD_BYTES = 1 + SlotClaim.HOLDER_CHARS + Long.BYTES + 1;

  public SlotToken {
    keys = List.copyOf(keys);
    if (keys.isEmpty() || keys.size() > Check.MAX_BUCKETS) {
      throw new IllegalArgumentException("keys must be 1 to " + Check.MAX_BUCKETS);
    }
    if (keys.stream().map(SlotKey::text).distinct().count() != keys.size()) {
      throw new IllegalArgumentException("a key is named twice");
    }
    if (keys.stream().filter(key -> key.client() != null).map(SlotKey::client).distinct().count()
        > 1) {
      throw new IllegalArgumentException("the keys are of several clients");
    }
  }

  /** Returns the same slots with a lease that ends at another time. */
  SlotToken until(long epochMicros) {
    return new SlotToken(claim.until(epochMicros), keys);
  }

  /** Returns the text form: Base64 for URLs, at most {@value #MAX_CHARS} characters. */
  public String text() {
    int bytes = HEAD_BYTES;
    for (SlotKey key : keys) {
      bytes += Short.BYTES + key.text().length();
    }
    ByteBuffer buffer =
        ByteBuffer.allocate(bytes)
            .put(VERSION)
            .put(ascii(claim.holder()))
            .putLong(claim.untilEpochMicros())
            .put((byte) keys.size());
    for (SlotKey key : keys) {
      buffer.putShort((short) key.text().length()).put(ascii(key.text()));
    }
    return Base64.getUrlEncoder().withoutPadding().encodeToString(buffer.array());
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  /**
   * Parses the text form.
   *
   * @throws IllegalArgumentException if the text is not that of a token; the message says nothing
   *     of its content
   */
  public static SlotToken parse(String text) {
    if (text.length() > MAX_CHARS) {
      throw new IllegalArgumentException("must have at most " + MAX_CHARS + " characters");
    }
    try {
      ByteBuffer buffer = ByteBuffer.wrap(Base64.getUrlDecoder().decode(text));
      if (buffer.get() != VERSION) {
        throw new IllegalArgumentException("another version");
      }
      String holder = ascii(buffer, SlotClaim.HOLDER_CHARS);
      SlotClaim claim = new SlotClaim(holder, buffer.getLong());
      List<SlotKey> keys = new ArrayList<>();
      for (int left = buffer.get(); left > 0; left--) {
        keys.add(SlotKey.parse(ascii(buffer, buffer.getShort())));
      }
      SlotToken token = new SlotToken(claim, keys);
      if (buffer.hasRemaining() || !token.text().equals(text)) {
        throw new IllegalArgumentException("something follows");
      }
      return token;
    } catch (IllegalArgumentException | BufferUnderflowException malformed) {
      throw new IllegalArgumentException(
          "must be a slot as a check or a renewal gave it", malformed);
    }
  }

  private static String ascii(ByteBuffer buffer, int length) {
    if (length < 0 || length > buffer.remaining()) {
      throw new BufferUnderflowException();
    }
    byte[] bytes = new byte[length];
    buffer.get(bytes);
    return new String(bytes, StandardCharsets.ISO_8859_1);
  }
}
