// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.log;

import java.nio.charset.StandardCharsets;
import java.util.function.Function;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.jspecify.annotations.Nullable;

/**
 * Looks up the headers of a record. If several headers have the same name, the last one is used.
 * Stateless and thread-safe.
 */
public final class HeaderValues {
  private HeaderValues() {}

  /**
   * Returns a function from a header's name to its value, or to null if there is no such header or
   * it has no value. The codecs use it. The function reflects later changes of the headers.
   */
  public static Function<String, byte @Nullable []> of(Headers headers) {
    return name -> {
      Header header = headers.lastHeader(name);
      return header == null ? null : header.value();
    };
  }

  /**
   * Returns the value of a header as text, decoded from UTF-8, or null if there is no header of
   * that name or it has no value.
   */
  public static @Nullable String text(Headers headers, String name) {
    byte[] value = of(headers).apply(name);
    return value == null ? null : new String(value, StandardCharsets.UTF_8);
  }
}
