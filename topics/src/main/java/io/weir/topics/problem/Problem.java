// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.problem;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.util.ByteArrayBuilder;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A problem document (RFC 9457). Immutable.
 *
 * @param reason what kind of problem it is
 * @param status the HTTP status
 * @param detail what is wrong this time, and what would be right
 * @param field the request's member, parameter or header field that is wrong; null when none is
 * @param missingPartitions partitions that could not be asked; empty when it is not about them
 */
public record Problem(
    ProblemReason reason,
    int status,
    String detail,
    @Nullable String field,
    List<Integer> missingPartitions) {
  /** The media type of the document. */
  public static final String MEDIA_TYPE = "application/problem+json";

  private static final JsonFactory JSON = new JsonFactory();

  /** A problem document. */
  public Problem {
    missingPartitions = List.copyOf(missingPartitions);
  }

  /** A problem of no single field. */
  public static Problem of(ProblemReason reason, String detail) {
    return new Problem(reason, reason.status(), detail, null, List.of());
  }

  /**
   * A problem of a member, parameter or header field.
   *
   * @param rule what it must be; it follows the field's name in the detail
   */
  public static Problem ofField(ProblemReason reason, String field, String rule) {
    return new Problem(reason, reason.status(), field + " " + rule, field, List.of());
  }

  /** A request that the server itself refuses, with the status it has chosen. */
  public static Problem malformed(int status, String detail) {
    return new Problem(ProblemReason.MALFORMED_REQUEST, status, detail, null, List.of());
  }

  /** A partition that nobody answers for. */
  public static Problem partitionUnavailable(int partition, String why) {
    return new Problem(
        ProblemReason.PARTITION_UNAVAILABLE,
        ProblemReason.PARTITION_UNAVAILABLE.status(),
        "partition " + partition + ": " + why,
        null,
        List.of(partition));
  }

  /** Writes the members into an object that is open. */
  public void writeMembers(JsonGenerator json) throws IOException {
    json.writeStringField("type", reason.type());
    json.writeStringField("title", reason.title());
    json.writeNumberField("status", status);
    json.writeStringField("detail", detail);
    json.writeStringField("reason", reason.word());
    if (field != null) {
      json.writeStringField("field", field);
    }
    if (!missingPartitions.isEmpty()) {
      json.writeArrayFieldStart("missing_partitions");
      for (int partition : missingPartitions) {
        json.writeNumber(partition);
      }
      json.writeEndArray();
    }
  }

  /** The document in UTF-8. */
  public byte[] toJson() {
    try (ByteArrayBuilder bytes = new ByteArrayBuilder(512)) {
      try (JsonGenerator json = JSON.createGenerator(bytes)) {
        json.writeStartObject();
        writeMembers(json);
        json.writeEndObject();
      }
      return bytes.toByteArray();
    } catch (IOException impossible) {
      throw new UncheckedIOException("memory does not fail to be written", impossible);
    }
  }
}
