// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.IdentityHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The JSON texts of contents. Contents that are the same object share one text, which is written
 * once. The contents must not be modified meanwhile. Not thread-safe.
 */
final class ContentTexts {
  private final IdentityHashMap<JsonNode, byte[]> texts = new IdentityHashMap<>();

  /** Returns the text of a content, which must not be modified; null if there is no content. */
  byte @Nullable [] of(@Nullable JsonNode content) {
    return content == null ? null : texts.computeIfAbsent(content, PolicyEntryCodec::bytes);
  }
}
