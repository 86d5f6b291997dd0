// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.UUID;

/**
 * Creates name-based UUIDs, version 5 (RFC 9562 §5.5), in Weir's namespace. Stateless and
 * thread-safe.
 */
final class RecordId {
  private static final UUID NAMESPACE = UUID.fromString("5d4d6f0e-3c0c-5a57-9b0e-7765697200a1");

  private RecordId() {}

  /**
   * Returns the id of a natural key. The length of each part precedes the part, so different keys
   * never have the same encoding.
   */
  static String of(String... parts) {
    MessageDigest sha1 = sha1();
    sha1.update(
        ByteBuffer.allocate(16)
            .putLong(NAMESPACE.getMostSignificantBits())
            .putLong(NAMESPACE.getLeastSignificantBits())
            .flip());
    for (String part : parts) {
      byte[] bytes = part.getBytes(StandardCharsets.UTF_8);
      sha1.update(ByteBuffer.allocate(4).putInt(bytes.length).flip());
      sha1.update(bytes);
    }
    ByteBuffer hash = ByteBuffer.wrap(sha1.digest());
    long high = (hash.getLong() & ~0xf000L) | 0x5000L;
    long low = (hash.getLong() & 0x3fffffffffffffffL) | 0x8000000000000000L;
    return new UUID(high, low).toString();
  }

  private static MessageDigest sha1() {
    try {
      return MessageDigest.getInstance("SHA-1");
    } catch (NoSuchAlgorithmException missing) {
      throw new IllegalStateException("this Java platform does not provide SHA-1", missing);
    }
  }
}
