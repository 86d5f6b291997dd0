// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.weir.ingest.policy.log.PolicyEditor.Change;
import io.weir.ingest.policy.log.PolicyEditor.Draft;
import io.weir.ingest.policy.log.PolicyEditor.Reason;
import io.weir.ingest.policy.log.PolicyEditor.RefusedException;
import io.weir.limits.policy.ApiKeyHash;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Creates policy changes that add or remove an API key of a client. Stateless and thread-safe. */
public final class ApiKeyEdits {
  private static final String KEYS = "api_keys";
  private static final String SHA256 = "sha256";
  private static final int SHOWN = 3;
  private static final int DIGITS_OF_ID = 8;

  private ApiKeyEdits() {}

  /** Returns the default id of a key, which is the first eight hexadecimal digits of its hash. */
  public static String idOf(ApiKeyHash sha256) {
    return sha256.toString().substring(0, DIGITS_OF_ID);
  }

  /**
   * Returns a change that appends a key to the keys of a client. The client's other settings do not
   * change. A client without settings gets only the key.
   *
   * @param key the key in the form of a policy file, with id and sha256
   * @param seen the expected version of the client's entry, as in {@link PolicyEdits#put}
   */
  public static Change add(PolicyKey client, ObjectNode key, long seen) {
    return state -> {
      PolicyEntry present = PolicyEdits.existing(state, client);
      PolicyEdits.requireSeen(client, present, seen);
      ObjectNode content = contentOf(present);
      JsonNode keys = content.path(KEYS);
      ArrayNode next = keys instanceof ArrayNode known ? known : content.putArray(KEYS);
      next.add(key);
      return List.of(new Draft(client, PolicyEntryCodec.normal(content)));
    };
  }

  /**
   * Returns a change that removes a key from a client. The client's other settings do not change. A
   * client without keys is still a known client.
   *
   * @param id the id of the key
   * @param seen the expected version of the client's entry, as in {@link PolicyEdits#put}
   */
  public static Change remove(PolicyKey client, String id, long seen) {
    return state -> {
      PolicyEntry present = PolicyEdits.existing(state, client);
      PolicyEdits.requireSeen(client, present, seen);
      ObjectNode content = contentOf(present);
      List<JsonNode> kept = new ArrayList<>(keys(present));
      if (!kept.removeIf(key -> key.path("id").asText().equals(id))) {
        // the message omits the id, because the operator may have entered a key by mistake
        throw new RefusedException(Reason.NOT_FOUND, client + " has no API key with this id");
      }
      if (kept.isEmpty()) {
        content.remove(KEYS);
      } else {
        content.putArray(KEYS).addAll(kept);
      }
      return List.of(new Draft(client, PolicyEntryCodec.normal(content)));
    };
  }

  /**
   * Returns the keys of a client, each with id, sha256 and optionally expires_at.
   *
   * @param client the entry of the client; null if the client has no settings
   */
  public static List<JsonNode> keys(@Nullable PolicyEntry client) {
    List<JsonNode> keys = new ArrayList<>();
    JsonNode content = client == null ? null : client.content();
    if (content != null) {
      content.path(KEYS).forEach(keys::add);
    }
    return keys;
  }

  /**
   * Returns the API keys that the drafts would remove, each as {@code ID of client NAME}. If a
   * draft only changes the id or the expiry of a key, the key counts as kept.
   */
  public static List<String> revoked(PolicyLogState state, List<Draft> drafts) {
    List<String> revoked = new ArrayList<>();
    for (Draft draft : drafts) {
      if (draft.key().kind() != PolicyKey.Kind.CLIENT) {
        continue;
      }
      Set<JsonNode> kept = new HashSet<>();
      JsonNode content = draft.content();
      if (content != null) {
        content.path(KEYS).forEach(key -> kept.add(key.path(SHA256)));
      }
      for (JsonNode key : keys(PolicyEdits.existing(state, draft.key()))) {
        if (!kept.contains(key.path(SHA256))) {
          revoked.add(key.path("id").asText() + " of " + draft.key());
        }
      }
    }
    return revoked;
  }

  /**
   * Refuses a file without some of the published keys, because Weir could not restore the missing
   * keys.
   */
  static void requireNoneRevoked(PolicyLogState state, List<Draft> drafts) throws RefusedException {
    List<String> revoked = revoked(state, drafts);
    if (!revoked.isEmpty()) {
      int more = revoked.size() - SHOWN;
      throw new RefusedException(
          Reason.INVALID,
          "the file lacks published API keys ("
              + String.join(", ", revoked.subList(0, Math.min(SHOWN, revoked.size())))
              + (more > 0 ? " and " + more + " more" : "")
              + "): copy them from the output of 'weir policies export', or revoke them with"
              + " 'weir policies apply --revoke-keys'");
    }
  }

  private static ObjectNode contentOf(@Nullable PolicyEntry present) {
    JsonNode content = present == null ? null : present.content();
    return content instanceof ObjectNode known
        ? known.deepCopy()
        : PolicyEntryCodec.JSON.createObjectNode();
  }
}
