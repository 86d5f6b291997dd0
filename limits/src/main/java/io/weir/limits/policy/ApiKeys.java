// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The API keys of all clients, indexed by their hash. Immutable. */
public final class ApiKeys {
  /**
   * Maximum number of keys of one client. The maximum allows one key per program, and a second key
   * during a rotation.
   */
  public static final int MAX_OF_CLIENT = 100;

  /**
   * Maximum number of keys of all clients together. The maximum bounds the memory of a node: about
   * 700 bytes per key, including the key's part of the policy record in Kafka.
   */
  public static final int MAX = 200_000;

  private final Map<ApiKeyHash, Owned> byHash;

  private ApiKeys(Map<ApiKeyHash, Owned> byHash) {
    this.byHash = byHash;
  }

  /** A key and the client that owns it. */
  public record Owned(String client, ApiKey key) {}

  /**
   * Returns the keys in the settings of clients. If two keys have the same hash, the result
   * contains only one of the two keys.
   *
   * @see #repeated
   */
  public static ApiKeys of(Map<String, ClientSettings> settings) {
    Map<ApiKeyHash, Owned> byHash = new HashMap<>();
    settings.forEach(
        (client, own) ->
            own.apiKeys().forEach(key -> byHash.put(key.sha256(), new Owned(client, key))));
    return new ApiKeys(byHash);
  }

  /**
   * Returns the key with the given hash, even if the key has expired; null if no client has such a
   * key.
   */
  public @Nullable Owned find(ApiKeyHash hash) {
    return byHash.get(hash);
  }

  /** Returns the number of keys in the settings of clients. */
  public static int count(Map<String, ClientSettings> settings) {
    return settings.values().stream().mapToInt(own -> own.apiKeys().size()).sum();
  }

  /**
   * A key whose hash occurs in two places.
   *
   * @param client client whose settings contain the key in the later place
   * @param index index of the key in the list of {@code client}
   * @param otherClient client whose settings contain the key in the earlier place
   * @param otherIndex index of the key in the list of {@code otherClient}
   */
  public record Repeated(String client, int index, String otherClient, int otherIndex) {}

  /**
   * Returns the keys whose hash also occurs in an earlier place. Places are ordered by the client's
   * name, and then by the index in the client's list. A repeated key would identify two clients or
   * two ids.
   */
  public static List<Repeated> repeated(Map<String, ClientSettings> settings) {
    return hasRepeated(settings) ? repeatedInOrder(settings) : List.of();
  }

  private static boolean hasRepeated(Map<String, ClientSettings> settings) {
    Set<ApiKeyHash> seen = new HashSet<>();
    for (ClientSettings own : settings.values()) {
      for (ApiKey key : own.apiKeys()) {
        if (!seen.add(key.sha256())) {
          return true;
        }
      }
    }
    return false;
  }

  private record Place(String client, int index) {}

  private static List<Repeated> repeatedInOrder(Map<String, ClientSettings> settings) {
    Map<ApiKeyHash, Place> seen = new HashMap<>();
    List<Repeated> repeated = new ArrayList<>();
    for (Map.Entry<String, ClientSettings> own : new TreeMap<>(settings).entrySet()) {
      List<ApiKey> keys = own.getValue().apiKeys();
      for (int i = 0; i < keys.size(); i++) {
        Place first = seen.putIfAbsent(keys.get(i).sha256(), new Place(own.getKey(), i));
        if (first != null) {
          repeated.add(new Repeated(own.getKey(), i, first.client(), first.index()));
        }
      }
    }
    return repeated;
  }
}
