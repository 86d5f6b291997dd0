// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.limits.policy.ApiKey;
import io.weir.limits.policy.ApiKeyHash;
import io.weir.limits.policy.ApiKeys;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Reads the API keys of a client from a policy file. Problems never contain the value of {@code id}
 * or {@code sha256}, because an operator may have entered a key there by mistake.
 */
final class ApiKeyReader {
  private static final Set<String> FIELDS = Set.of("id", "sha256", "expires_at");

  private final FieldReader fields;

  ApiKeyReader(FieldReader fields) {
    this.fields = fields;
  }

  /** Reads the list of keys, which may be absent. */
  List<ApiKey> read(JsonNode list, String path) {
    List<ApiKey> keys = new ArrayList<>();
    if (list.isMissingNode()) {
      return keys;
    }
    if (!list.isArray() || list.size() > ApiKeys.MAX_OF_CLIENT) {
      fields.problem(
          path
              + " must be a list of at most "
              + ApiKeys.MAX_OF_CLIENT
              + " keys"
              + (list.isArray() ? ", but has " + list.size() : ""));
      return keys;
    }
    Set<String> ids = new HashSet<>();
    for (int i = 0; i < list.size(); i++) {
      ApiKey key = key(list.get(i), path + "[" + i + "]");
      if (key != null) {
        keys.add(key);
        if (!ids.add(key.id())) {
          fields.problem(
              "%s[%s].id must be unique, but another key of the client has the same id"
                  .formatted(path, i));
        }
      }
    }
    return keys;
  }

  private @Nullable ApiKey key(JsonNode node, String path) {
    int problemsBefore = fields.count();
    if (!node.isObject()) {
      fields.problem(path + " must be a mapping with the fields id, sha256, expires_at");
      return null;
    }
    fields.refuseUnknown(node, path, FIELDS);
    String id = text(node, path, "id");
    if (id != null && !ApiKey.isId(id)) {
      fields.problem(path + ".id " + ApiKey.ID_RULE);
    }
    String sha256 = text(node, path, "sha256");
    if (sha256 != null && !ApiKeyHash.isHash(sha256)) {
      fields.problem(
          path
              + ".sha256 must be the SHA-256 of the complete key, as 64 lower-case hexadecimal "
              + "digits");
    }
    Instant expiresAt = fields.instant(node, path, "expires_at");
    if (fields.count() > problemsBefore || id == null || sha256 == null) {
      return null;
    }
    return new ApiKey(
        id, ApiKeyHash.parse(sha256), expiresAt == null ? ApiKey.NEVER : expiresAt.toEpochMilli());
  }

  private @Nullable String text(JsonNode node, String path, String field) {
    JsonNode text = node.path(field);
    if (text.isTextual()) {
      return text.textValue();
    }
    fields.problem(
        path + "." + field + (text.isMissingNode() ? " is missing" : " must be a string"));
    return null;
  }
}
