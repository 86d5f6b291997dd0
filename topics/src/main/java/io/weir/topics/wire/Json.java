// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.util.ByteArrayBuilder;
import com.fasterxml.jackson.core.util.JsonRecyclerPools;
import java.io.IOException;
import java.io.UncheckedIOException;

/**
 * Streaming JSON for encoders and decoders, with strict parsing and without object mapping.
 * Stateless and thread-safe.
 */
final class Json {
  /** Maximum nesting depth. Weir's records have at most three levels. */
  private static final int MAX_NESTING = 16;

  /** Maximum length of a text or name. All names and texts that Weir writes are much shorter. */
  private static final int MAX_TEXT_CHARS = 64 * 1024;

  static final JsonFactory FACTORY =
      JsonFactory.builder()
          // a virtual thread handles one request, so thread-local buffers would never be used again
          .recyclerPool(JsonRecyclerPools.sharedConcurrentDequePool())
          .streamReadConstraints(
              StreamReadConstraints.builder()
                  .maxNestingDepth(MAX_NESTING)
                  .maxStringLength(MAX_TEXT_CHARS)
                  .maxNameLength(MAX_TEXT_CHARS)
                  .build())
          .build();

  private Json() {}

  /** Writer of the members of an object. The caller opens and closes the object. */
  interface Members {
    void write(JsonGenerator json) throws IOException;
  }

  static byte[] object(Members members) {
    try (ByteArrayBuilder bytes = new ByteArrayBuilder(512)) {
      try (JsonGenerator json = FACTORY.createGenerator(bytes)) {
        json.writeStartObject();
        members.write(json);
        json.writeEndObject();
      }
      return bytes.toByteArray();
    } catch (IOException impossible) {
      throw new UncheckedIOException("writing JSON to memory failed", impossible);
    }
  }

  static String text(JsonParser json, String member) throws IOException, MalformedRecordException {
    if (json.currentToken() != JsonToken.VALUE_STRING) {
      throw new MalformedRecordException(member + " must be a string");
    }
    return json.getText();
  }

  static long integer(JsonParser json, String member) throws IOException, MalformedRecordException {
    if (json.currentToken() != JsonToken.VALUE_NUMBER_INT) {
      throw new MalformedRecordException(member + " must be an integer");
    }
    try {
      return json.getLongValue();
    } catch (IOException tooLarge) {
      throw new MalformedRecordException(member + " must be in the range of int64", tooLarge);
    }
  }

  static boolean bool(JsonParser json, String member) throws MalformedRecordException {
    JsonToken token = json.currentToken();
    if (token != JsonToken.VALUE_TRUE && token != JsonToken.VALUE_FALSE) {
      throw new MalformedRecordException(member + " must be true or false");
    }
    return token == JsonToken.VALUE_TRUE;
  }
}
