// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.topics.wire.MalformedRecordException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.IdentityHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Encodes policy entries as record values, and decodes them. A value is a JSON object with the
 * members {@code version, parts, policies_version, clients_version, changed_at_ms, changed_by,
 * change}. A policy also has the member {@code order}. The content is in a member named after the
 * kind of the key; a deletion has {@code deleted: true} instead. If a policy takes effect later,
 * the member {@code until_then} contains the earlier policy. The encoder also writes {@code part},
 * because nodes of earlier releases require this member. The decoder ignores unknown members.
 * Stateless and thread-safe.
 */
final class PolicyEntryCodec {
  static final ObjectMapper JSON =
      new ObjectMapper().enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS);

  /** Initial buffer size, enough for most records: a client with one limit of its own. */
  private static final int USUAL_BYTES = 512;

  private static final String DELETED = "deleted";
  private static final String UNTIL_THEN = "until_then";

  private PolicyEntryCodec() {}

  /** Encodes an entry as the value of a record. */
  static byte[] encode(PolicyEntry entry) {
    ByteArrayOutputStream value = new ByteArrayOutputStream(USUAL_BYTES);
    try (JsonGenerator json = JSON.createGenerator(value)) {
      json.writeStartObject();
      writeMembers(entry, json);
      json.writeEndObject();
    } catch (IOException impossible) {
      throw new UncheckedIOException("writing JSON to memory failed", impossible);
    }
    return value.toByteArray();
  }

  /**
   * Encodes the members of a change. The result is the beginning of a record's value, without a
   * closing brace.
   */
  static byte[] encodeChange(PolicyEntry.Change change) {
    ByteArrayOutputStream value = new ByteArrayOutputStream(USUAL_BYTES);
    try (JsonGenerator json = JSON.createGenerator(value)) {
      json.writeStartObject();
      writeChange(change, json);
      json.flush();
      return value.toByteArray();
    } catch (IOException impossible) {
      throw new UncheckedIOException("writing JSON to memory failed", impossible);
    }
  }

  private static void writeChange(PolicyEntry.Change change, JsonGenerator json)
      throws IOException {
    json.writeNumberField("version", change.version());
    json.writeNumberField("part", 1);
    json.writeNumberField("parts", change.parts());
    json.writeNumberField("policies_version", change.policiesVersion());
    json.writeNumberField("clients_version", change.clientsVersion());
    json.writeNumberField("changed_at_ms", change.atEpochMillis());
    json.writeStringField("changed_by", change.by());
    json.writeStringField("change", change.id());
  }

  /** Writes the members of an entry's record. */
  static void writeMembers(PolicyEntry entry, JsonGenerator json) throws IOException {
    writeChange(entry.change(), json);
    if (entry.order() > 0) {
      json.writeNumberField("order", entry.order());
    }
    byte[] content = entry.contentText();
    if (content == null) {
      json.writeBooleanField(DELETED, true);
    } else {
      writeText(entry.key().kind().word(), content, json);
    }
    byte[] untilThen = entry.untilThenText();
    if (untilThen != null) {
      writeText(UNTIL_THEN, untilThen, json);
    }
  }

  private static void writeText(String member, byte[] text, JsonGenerator json) throws IOException {
    json.writeFieldName(member);
    json.writeRawValue(new String(text, StandardCharsets.UTF_8));
  }

  /** Decodes the value of a record. */
  static PolicyEntry decode(PolicyKey key, byte @Nullable [] value)
      throws MalformedRecordException {
    if (value == null) {
      throw new MalformedRecordException(key + " has no value");
    }
    JsonNode tree;
    try {
      tree = JSON.readTree(value);
    } catch (IOException notJson) {
      throw new MalformedRecordException(key + " is not JSON: " + notJson.getMessage(), notJson);
    }
    return decode(key, tree);
  }

  /** Reads an entry from an object with the members that {@link #writeMembers} writes. */
  static PolicyEntry decode(PolicyKey key, JsonNode tree) throws MalformedRecordException {
    JsonNode content = tree.path(key.kind().word());
    boolean isDeleted = tree.path(DELETED).asBoolean(false);
    if (key.kind() == PolicyKey.Kind.UNKNOWN && !isDeleted) {
      content = tree; // PolicyLogState refuses an unknown kind, whatever its content
    }
    if (isDeleted != content.isMissingNode()) {
      throw new MalformedRecordException(
          key + " must have either deleted: true or the member " + key.kind().word());
    }
    try {
      return new PolicyEntry(
          key,
          new PolicyEntry.Change(
              integer(tree, "version"),
              Math.toIntExact(integer(tree, "parts")),
              integer(tree, "policies_version"),
              integer(tree, "clients_version"),
              integer(tree, "changed_at_ms"),
              tree.path("changed_by").asText(""),
              tree.path("change").asText("")),
          tree.path("order").asLong(0),
          isDeleted ? null : content,
          tree.has(UNTIL_THEN) ? tree.path(UNTIL_THEN) : null);
    } catch (IllegalArgumentException | ArithmeticException outOfRange) {
      throw new MalformedRecordException(key + ": " + outOfRange.getMessage(), outOfRange);
    }
  }

  /** Returns the version in a value that is no valid entry; 0 if the value has no version. */
  static long versionIfReadable(byte @Nullable [] value) {
    if (value == null) {
      return 0;
    }
    try {
      JsonNode version = JSON.readTree(value).path("version");
      return version.canConvertToLong() ? Math.max(0, version.asLong()) : 0;
    } catch (IOException notJson) {
      return 0;
    }
  }

  private static long integer(JsonNode tree, String member) throws MalformedRecordException {
    JsonNode value = tree.path(member);
    if (!value.isIntegralNumber() || !value.canConvertToLong()) {
      throw new MalformedRecordException(member + " must be an integer");
    }
    return value.longValue();
  }

  /** Parses a JSON text that {@link #bytes} wrote. */
  static JsonNode tree(byte[] text) {
    try {
      return JSON.readTree(text);
    } catch (IOException impossible) {
      throw new UncheckedIOException("reading a stored content failed", impossible);
    }
  }

  /**
   * Writes and parses a tree, and returns the parsed tree. Normalized trees with the same content
   * are equal.
   */
  static JsonNode normal(JsonNode tree) {
    return tree(bytes(tree));
  }

  static byte[] bytes(JsonNode tree) {
    try {
      return JSON.writeValueAsBytes(tree);
    } catch (JsonProcessingException impossible) {
      throw new UncheckedIOException("writing a JSON tree failed", impossible);
    }
  }

  /**
   * The JSON texts of contents. This class writes the text of each content object only once. The
   * contents must not be modified while this object is in use. Not thread-safe.
   */
  static final class ContentTexts {
    private final IdentityHashMap<JsonNode, byte[]> texts = new IdentityHashMap<>();

    /**
     * Returns the text of a content; null if there is no content. The text must not be modified.
     */
    byte @Nullable [] of(@Nullable JsonNode content) {
      return content == null ? null : texts.computeIfAbsent(content, PolicyEntryCodec::bytes);
    }
  }
}
