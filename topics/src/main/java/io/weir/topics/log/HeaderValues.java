// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.log;

import java.nio.charset.StandardCharsets;
import java.util.function.Function;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.jspecify.annotations.Nullable;

/**
 * Reads header values of a record. If several headers have the same name, this class uses the last
 * header. Stateless and thread-safe.
 */
public final class HeaderValues {
  private HeaderValues() {}

  /**
   * Returns a function that returns the value of a header, or null if the record has no such header
   * or the header has no value. The codecs use the function. The function reflects later changes of
   * the headers.
   */
  public static Function<String, byte @Nullable []> of(Headers headers) {
    return name -> {
      Header header = headers.lastHeader(name);
      return header == null ? null : header.value();
    };
  }

  /**
   * Returns the value of a header as text, decoded from UTF-8; null if the record has no such
   * header or the header has no value.
   */
  public static @Nullable String text(Headers headers, String name) {
    byte[] value = of(headers).apply(name);
    return value == null ? null : new String(value, StandardCharsets.UTF_8);
  }
}
