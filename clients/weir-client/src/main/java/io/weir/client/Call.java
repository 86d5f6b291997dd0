// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A call that Weir checks. The check API defines the rules for each member, such as the maximum
 * length of a name. If a node refuses a member, the {@link WeirRequestException} names this member.
 * Immutable.
 *
 * @param client the client's name; null if {@code apiKey} identifies the client
 * @param apiKey an API key of the client; null if {@code client} is set. A call must have either a
 *     client or an API key
 * @param endpoint the template of the called endpoint, such as {@code GET /v1/items/{id}}; null for
 *     a call without an endpoint
 * @param meter the meter that counts the call; null means {@code calls}
 * @param cost number of tokens that the call takes, and of units that Weir bills, 1 to 2^53 − 1
 * @param id the idempotency key. If the id is null, {@link WeirClient} creates a UUIDv7, and uses
 *     the same id for all retries
 * @param ip the caller's IPv4 or IPv6 address; null if the address is unknown
 * @param attributes attributes that policies can match; a value must be a {@link String}, {@link
 *     Number} or {@link Boolean}
 */
public record Call(
    @Nullable String client,
    @Nullable String apiKey,
    @Nullable String endpoint,
    @Nullable String meter,
    long cost,
    @Nullable String id,
    @Nullable String ip,
    Map<String, Object> attributes) {
  public Call {
    if ((client == null) == (apiKey == null)) {
      throw new IllegalArgumentException("a call must have either a client or an API key");
    }
    if (cost < 1) {
      throw new IllegalArgumentException("cost must be at least 1, but is " + cost);
    }
    requireText("client", client);
    requireText("apiKey", apiKey);
    requireText("endpoint", endpoint);
    requireText("meter", meter);
    requireText("id", id);
    requireText("ip", ip);
    for (Map.Entry<String, Object> attribute : attributes.entrySet()) {
      Object value = attribute.getValue();
      if (!(value instanceof String || value instanceof Number || value instanceof Boolean)) {
        throw new IllegalArgumentException(
            "attribute " + attribute.getKey() + " must be a string, a number or a boolean");
      }
      requireText("attributes", attribute.getKey());
      requireText("attribute " + attribute.getKey(), value.toString());
    }
    attributes = Map.copyOf(attributes);
  }

  /** Rejects a text with an unpaired surrogate, because UTF-8 cannot encode such a text. */
  private static void requireText(String member, @Nullable String value) {
    if (value != null && !StandardCharsets.UTF_8.newEncoder().canEncode(value)) {
      throw new IllegalArgumentException(member + " must not contain an unpaired surrogate");
    }
  }

  /** Returns a call of a client, with cost 1, the default meter and no endpoint. */
  public static Call of(String client) {
    return new Call(
        Objects.requireNonNull(client, "client"), null, null, null, 1, null, null, Map.of());
  }

  /**
   * Returns a call of the client with the given API key, with cost 1, the default meter and no
   * endpoint.
   */
  public static Call ofApiKey(String apiKey) {
    return new Call(
        null, Objects.requireNonNull(apiKey, "apiKey"), null, null, 1, null, null, Map.of());
  }

  /** Returns this call with an endpoint. */
  public Call withEndpoint(String other) {
    return new Call(client, apiKey, other, meter, cost, id, ip, attributes);
  }

  /** Returns this call with a meter. */
  public Call withMeter(String other) {
    return new Call(client, apiKey, endpoint, other, cost, id, ip, attributes);
  }

  /** Returns this call with a cost, at least 1. */
  public Call withCost(long other) {
    return new Call(client, apiKey, endpoint, meter, other, id, ip, attributes);
  }

  /** Returns this call with the given idempotency key. */
  public Call withId(String other) {
    return new Call(client, apiKey, endpoint, meter, cost, other, ip, attributes);
  }

  /** Returns this call with the caller's address. */
  public Call withIp(String other) {
    return new Call(client, apiKey, endpoint, meter, cost, id, other, attributes);
  }

  /** Returns this call with the given value of an attribute. */
  public Call withAttribute(String name, Object value) {
    Map<String, Object> more = new LinkedHashMap<>(attributes);
    more.put(name, value);
    return new Call(client, apiKey, endpoint, meter, cost, id, ip, more);
  }

  /** Returns the members of the call. Omits the API key, which is a secret. */
  @Override
  public String toString() {
    return "Call[client="
        + (client == null ? "of an API key" : client)
        + ", endpoint="
        + endpoint
        + ", meter="
        + meter
        + ", cost="
        + cost
        + ", id="
        + id
        + ", ip="
        + ip
        + ", attributes="
        + attributes
        + "]";
  }
}
