// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.javalin.config.JavalinConfig;
import io.javalin.http.Context;
import io.javalin.http.MethodNotAllowedResponse;
import io.weir.ingest.http.JsonBody.Invalid;
import io.weir.ingest.policy.NewApiKey;
import io.weir.ingest.policy.log.ApiKeyEdits;
import io.weir.ingest.policy.log.PolicyEditor.RefusedException;
import io.weir.ingest.policy.log.PolicyEntry;
import io.weir.ingest.policy.log.PolicyKey;
import io.weir.limits.policy.ApiKeyHash;
import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.format.DateTimeParseException;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The routes with which operators create, list and revoke the API keys of a client. Only the
 * response that creates a key contains the key. Thread-safe.
 */
final class ApiKeyRoutes {
  /** The path of the routes. Slashes in the client's name must be percent-encoded. */
  static final String KEYS = "/v1/clients/{name}/keys";

  static final String KEY = KEYS + "/{id}";

  private static final String EXPIRES_AT = "expires_at";

  private final AdminRoute admin;

  ApiKeyRoutes(CheckApi.PolicyAdmin admin) {
    this.admin = new AdminRoute(admin);
  }

  /**
   * Registers the routes. Must be called before the routes of clients are registered. Otherwise a
   * request for keys would match the route of a client named {@code NAME/keys}, because client
   * names may contain slashes.
   */
  void register(JavalinConfig config) {
    config.routes.get(KEYS, context -> admin.answer(context, this::list));
    config.routes.post(KEYS, context -> admin.answer(context, this::create));
    config.routes.get(KEY, context -> admin.answer(context, this::get));
    config.routes.delete(KEY, context -> admin.answer(context, this::revoke));
    config.routes.options(KEYS, context -> refuseMethod("GET, POST"));
    config.routes.options(KEY, context -> refuseMethod("GET, DELETE"));
    config.routes.put(KEYS, context -> refuseMethod("GET, POST"));
    config.routes.delete(KEYS, context -> refuseMethod("GET, POST"));
    config.routes.put(KEY, context -> refuseMethod("GET, DELETE"));
    config.routes.post(KEY, context -> refuseMethod("GET, DELETE"));
  }

  private static void refuseMethod(String allowed) {
    throw new MethodNotAllowedResponse("Method not allowed", Map.of("allowed", allowed));
  }

  private static PolicyKey client(Context context) throws Invalid {
    return PolicyKey.ofClient(AdminRoute.name(context));
  }

  private void list(Context context) throws Invalid {
    PolicyEntry entry = admin.entry(context, client(context));
    ObjectNode body = AdminRoute.JSON.createObjectNode();
    body.put("version", entry.version());
    ArrayNode keys = body.putArray("keys");
    ApiKeyEdits.keys(entry).forEach(keys::add);
    AdminRoute.write(context, body);
  }

  private void get(Context context) throws Invalid {
    PolicyEntry entry = admin.entry(context, client(context));
    String id = context.pathParam("id");
    JsonNode key = find(entry, id);
    if (key == null) {
      throw new Invalid(
          Problem.of(ProblemReason.POLICY_NOT_FOUND, "there is no such API key of " + entry.key()));
    }
    ObjectNode body = AdminRoute.JSON.createObjectNode();
    body.put("version", entry.version());
    body.set("key", key);
    AdminRoute.write(context, body);
  }

  private static @Nullable JsonNode find(@Nullable PolicyEntry entry, String id) {
    return ApiKeyEdits.keys(entry).stream()
        .filter(key -> key.path("id").asText().equals(id))
        .findFirst()
        .orElse(null);
  }

  /** Creates a key, or imports the key with the given hash. */
  private void create(Context context) throws Invalid, RefusedException {
    PolicyKey client = client(context);
    ObjectNode key =
        RequestBody.of(context).length == 0
            ? AdminRoute.JSON.createObjectNode()
            : AdminRoute.body(context);
    requireFuture(key.path(EXPIRES_AT));
    NewApiKey made = key.has("sha256") ? null : NewApiKey.random();
    if (made != null) {
      key.put("sha256", made.sha256().toString());
    }
    JsonNode sha256 = key.path("sha256");
    if (!key.has("id") && ApiKeyHash.isHash(sha256.asText())) {
      key.put("id", ApiKeyEdits.idOf(ApiKeyHash.parse(sha256.asText())));
    }
    ObjectNode body =
        admin.make(context, client, ApiKeyEdits.add(client, key, AdminRoute.seen(context))).body();
    if (made != null) {
      body.put("api_key", made.secret());
    }
    body.set("key", key);
    context.status(201);
    AdminRoute.write(context, body);
  }

  /**
   * Refuses a key that has already expired. Accepts a value that is not a time, because a later
   * check of the entry refuses such a value.
   */
  private static void requireFuture(JsonNode expiresAt) throws Invalid {
    try {
      if (!expiresAt.isMissingNode()
          && !OffsetDateTime.parse(expiresAt.asText()).toInstant().isAfter(Instant.now())) {
        throw Invalid.member(EXPIRES_AT, "must be a time in the future");
      }
    } catch (DateTimeParseException notATime) {
      return;
    }
  }

  private void revoke(Context context) throws Invalid, RefusedException {
    PolicyKey client = client(context);
    AdminRoute.write(
        context,
        admin
            .make(
                context,
                client,
                ApiKeyEdits.remove(client, context.pathParam("id"), AdminRoute.seen(context)))
            .body());
  }
}
