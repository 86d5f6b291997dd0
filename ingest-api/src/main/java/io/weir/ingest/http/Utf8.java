// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;

/**
 * Checks that a body is valid UTF-8, as JSON requires (RFC 8259 §8.1). The parser does not check
 * this. It accepts UTF-16, and overlong forms in member names, which another reader could refuse or
 * read differently.
 */
final class Utf8 {
  private Utf8() {}

  /**
   * Returns whether the bytes are valid UTF-8 without a NUL, which JSON allows only in escaped
   * form.
   */
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
