// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;

/**
 * Whether bytes are JSON's UTF-8 (RFC 8259 §8.1). The parser does not tell by itself: it takes
 * UTF-16 for what it is, and overlong forms in names of members, which another reader refuses or
 * reads as something else.
 */
final class Utf8 {
  private Utf8() {}

  /** Whether the bytes are valid UTF-8 without a NUL, which JSON has only escaped. */
  static boolean isText(byte[] bytes) {
    boolean ascii = true;
    for (byte b : bytes) {
      if (b == 0) {
        return false;
      }
      ascii &= b > 0;
    }
    return ascii || isValid(bytes);
  }

  private static boolean isValid(byte[] bytes) {
    try {
      StandardCharsets.UTF_8
          .newDecoder()
          .onMalformedInput(CodingErrorAction.REPORT)
          .decode(ByteBuffer.wrap(bytes));
      return true;
    } catch (CharacterCodingException malformed) {
      return false;
    }
  }
}
