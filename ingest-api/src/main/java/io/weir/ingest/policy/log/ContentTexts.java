// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.IdentityHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The JSON texts of contents. This class writes the text of each content object only once. The
 * contents must not be modified while this object is in use. Not thread-safe.
 */
final class ContentTexts {
  private final IdentityHashMap<JsonNode, byte[]> texts = new IdentityHashMap<>();

  /** Returns the text of a content; null if there is no content. The text must not be modified. */
  byte @Nullable [] of(@Nullable JsonNode content) {
    return content == null ? null : texts.computeIfAbsent(content, PolicyEntryCodec::bytes);
  }
}
