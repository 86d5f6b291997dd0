// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.limits.IpAddress;
import io.weir.limits.policy.ApiKeyHash;
import io.weir.limits.policy.CallFacts;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A call that identifies its client by an API key. This object contains only the key's hash. Weir
 * therefore cannot show, log or record the key.
 *
 * @param apiKey the hash of the key
 * @param endpoint the called endpoint
 * @param meter the meter that counts the call
 * @param ip the caller's address; null if unknown
 * @param attributes attributes of the call that the sender set, by name
 * @param cost tokens that the call takes, ≥ 1
 * @param id the id that the caller assigned; null if the node must create one
 */
public record KeyedCall(
    ApiKeyHash apiKey,
    String endpoint,
    String meter,
    @Nullable IpAddress ip,
    Map<String, String> attributes,
    long cost,
    @Nullable String id)
    implements CallRequest {
  /**
   * Maximum length of an API key in bytes. Keys that Weir creates have 48 bytes; imported keys may
   * be longer.
   */
  public static final int MAX_API_KEY_BYTES = 1_024;

  public KeyedCall {
    attributes = Map.copyOf(attributes);
  }

  /** Returns the same call with its client's name. */
  Call of(String client) {
    return new Call(new CallFacts(client, endpoint, meter, ip, attributes), cost, id);
  }
}
