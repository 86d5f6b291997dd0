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
 * A token with which a caller renews and releases the slots of a call, at any node. The token is no
 * secret: it contains only keys of slots, and every client that can send checks could create one.
 * Immutable.
 *
 * @param claim the holder, and the end of the lease according to the node's last response to the
 *     caller
 * @param keys the distinct keys of the slots, 1 to {@value Check#MAX_BUCKETS}, of at most one
 *     client
 */
public record SlotToken(SlotClaim claim, List<SlotKey> keys) {
  /** Maximum length of the text form. */
  public static final int MAX_CHARS = 9_000;

  private static final byte VERSION = 1;
  private static final int HEAD_BYTES = 1 + SlotClaim.HOLDER_CHARS + Long.BYTES + 1;

  public SlotToken {
    keys = List.copyOf(keys);
    if (keys.isEmpty() || keys.size() > Check.MAX_BUCKETS) {
      throw new IllegalArgumentException(
          "number of keys must be 1 to " + Check.MAX_BUCKETS + ", but is " + keys.size());
    }
    if (keys.stream().map(SlotKey::text).distinct().count() != keys.size()) {
      throw new IllegalArgumentException("keys must be distinct");
    }
    if (keys.stream().filter(key -> key.client() != null).map(SlotKey::client).distinct().count()
        > 1) {
      throw new IllegalArgumentException("keys must belong to one client");
    }
  }

  /** Returns a token for the same slots with a lease that ends at the given time. */
  SlotToken until(long epochMicros) {
    return new SlotToken(claim.until(epochMicros), keys);
  }

  /** Returns the text form: URL-safe Base64, at most {@value #MAX_CHARS} characters. */
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
   * @throws IllegalArgumentException if the text is not a token; the message does not contain the
   *     text
   */
  public static SlotToken parse(String text) {
    if (text.length() > MAX_CHARS) {
      throw new IllegalArgumentException("must have at most " + MAX_CHARS + " characters");
    }
    try {
      ByteBuffer buffer = ByteBuffer.wrap(Base64.getUrlDecoder().decode(text));
      if (buffer.get() != VERSION) {
        throw new IllegalArgumentException("unknown version");
      }
      String holder = ascii(buffer, SlotClaim.HOLDER_CHARS);
      SlotClaim claim = new SlotClaim(holder, buffer.getLong());
      List<SlotKey> keys = new ArrayList<>();
      for (int left = buffer.get(); left > 0; left--) {
        keys.add(SlotKey.parse(ascii(buffer, buffer.getShort())));
      }
      SlotToken token = new SlotToken(claim, keys);
      if (buffer.hasRemaining() || !token.text().equals(text)) {
        throw new IllegalArgumentException("trailing characters");
      }
      return token;
    } catch (IllegalArgumentException | BufferUnderflowException malformed) {
      throw new IllegalArgumentException(
          "must be a slot token from a check or a renewal", malformed);
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
