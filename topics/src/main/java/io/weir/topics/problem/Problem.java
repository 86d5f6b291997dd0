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
 * @param reason the kind of problem
 * @param status the HTTP status
 * @param detail description of this occurrence, with the rule
 * @param field member, parameter or header field of the request that is wrong; null if no single
 *     field is wrong
 * @param missingPartitions partitions that did not answer the query; empty for other problems
 * @param errors all errors, one sentence per error, if a request may have several errors; otherwise
 *     empty
 */
public record Problem(
    ProblemReason reason,
    int status,
    String detail,
    @Nullable String field,
    List<Integer> missingPartitions,
    List<String> errors) {
  /** The media type of a problem document. */
  public static final String MEDIA_TYPE = "application/problem+json";

  private static final JsonFactory JSON = new JsonFactory();

  public Problem {
    missingPartitions = List.copyOf(missingPartitions);
    errors = List.copyOf(errors);
  }

  /** Creates a problem without a field. */
  public static Problem of(ProblemReason reason, String detail) {
    return new Problem(reason, reason.status(), detail, null, List.of(), List.of());
  }

  /**
   * Creates a problem with a member, parameter or header field.
   *
   * @param rule rule for the field, as a phrase that follows the name of the field
   */
  public static Problem ofField(ProblemReason reason, String field, String rule) {
    return new Problem(reason, reason.status(), field + " " + rule, field, List.of(), List.of());
  }

  /** Creates the problem of a request that the HTTP server rejects, with the server's status. */
  public static Problem malformed(int status, String detail) {
    return new Problem(ProblemReason.MALFORMED_REQUEST, status, detail, null, List.of(), List.of());
  }

  /** Creates the problem of a partition for which no instance can answer. */
  public static Problem partitionUnavailable(int partition, String why) {
    return new Problem(
        ProblemReason.PARTITION_UNAVAILABLE,
        ProblemReason.PARTITION_UNAVAILABLE.status(),
        "partition " + partition + ": " + why,
        null,
        List.of(partition),
        List.of());
  }

  /** Returns this problem with a list of errors, one sentence per error. */
  public Problem withErrors(List<String> sentences) {
    return new Problem(reason, status, detail, field, missingPartitions, sentences);
  }

  /** Writes the members into an open JSON object. */
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
    if (!errors.isEmpty()) {
      json.writeArrayFieldStart("errors");
      for (String error : errors) {
        json.writeString(error);
      }
      json.writeEndArray();
    }
  }

  /** Returns the document in UTF-8. */
  public byte[] toJson() {
    try (ByteArrayBuilder bytes = new ByteArrayBuilder(512)) {
      try (JsonGenerator json = JSON.createGenerator(bytes)) {
        json.writeStartObject();
        writeMembers(json);
        json.writeEndObject();
      }
      return bytes.toByteArray();
    } catch (IOException impossible) {
      throw new UncheckedIOException("writing JSON to memory failed", impossible);
    }
  }
}
