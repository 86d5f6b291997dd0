// SPDX-License-Identifier: Apache-2.0
package io.weir.servers.testing;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.networknt.schema.JsonSchema;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import com.networknt.schema.ValidationMessage;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Checks responses of an HTTP API against its OpenAPI 3.1 description. The check is stricter than
 * OpenAPI: it forbids JSON members and Weir's header fields that the description does not contain.
 * Thread-safe.
 */
public final class DescribedAnswers {
  private static final JsonMapper JSON = new JsonMapper();
  private static final Set<String> METHODS =
      Set.of("get", "put", "post", "delete", "options", "head", "patch", "trace");

  /** Header fields that Weir defines, or that callers evaluate. */
  private static final Pattern OF_WEIR =
      Pattern.compile("(x-)?ratelimit.*|usage-.*|retry-after|etag|weir-.*");

  private final JsonNode description;
  private final JsonNode strictComponents;
  private final List<Route> routes = new ArrayList<>();
  private final Map<JsonNode, JsonSchema> schemas = new ConcurrentHashMap<>();
  private final Set<String> seen = ConcurrentHashMap.newKeySet();

  private record Route(String template, Pattern pattern, JsonNode item) {}

  /**
   * Creates a checker.
   *
   * @param description the OpenAPI description as JSON
   */
  public DescribedAnswers(String description) {
    this.description = parse(description);
    this.strictComponents = strict(this.description.path("components").deepCopy());
    this.description
        .path("paths")
        .properties()
        .forEach(
            path -> routes.add(new Route(path.getKey(), pattern(path.getKey()), path.getValue())));
  }

  /** Returns all described operations, such as {@code POST /v1/check}. */
  public Set<String> operations() {
    Set<String> operations = new TreeSet<>();
    for (Route route : routes) {
      for (String method : methods(route)) {
        operations.add(method + " " + route.template());
      }
    }
    return operations;
  }

  /** Returns the described methods of a route, in upper case. */
  private static Set<String> methods(Route route) {
    Set<String> methods = new TreeSet<>();
    route
        .item()
        .fieldNames()
        .forEachRemaining(
            name -> {
              if (METHODS.contains(name)) {
                methods.add(name.toUpperCase(Locale.ROOT));
              }
            });
    return methods;
  }

  /**
   * Returns the kinds of responses that have passed the check so far, such as {@code GET /v1/usage
   * 200}.
   */
  public Set<String> seen() {
    return new TreeSet<>(seen);
  }

  /**
   * Checks a response. A response to an undescribed path or method must have an error status.
   *
   * @return the same response
   * @throws AssertionError if the response does not match the description
   */
  public HttpResponse<String> check(HttpResponse<String> answer) {
    check(
        answer.request().method(),
        answer.uri().getRawPath(),
        answer.statusCode(),
        answer.headers().map(),
        answer.body());
    return answer;
  }

  private void check(
      String method, String path, int status, Map<String, List<String>> fields, String body) {
    String what = method + " " + path + " " + status;
    Route route = route(path);
    JsonNode operation = route == null ? null : operation(route, method);
    if (route == null || operation == null) {
      require(status >= 400 || method.equals("OPTIONS"), what, "is not described");
      return;
    }
    JsonNode responses = operation.path("responses");
    JsonNode response = responses.path(Integer.toString(status));
    if (response.isMissingNode()) {
      require(
          status >= 400 && responses.has("default"), what, "has a status that is not described");
      response = responses.path("default");
    }
    response = resolved(response);
    checkFields(what, response, fields);
    if (!method.equals("HEAD")) {
      checkBody(what, response, mediaType(fields), body);
    }
    seen.add(method + " " + route.template() + " " + status);
  }

  private void checkFields(String what, JsonNode response, Map<String, List<String>> fields) {
    Set<String> described = new HashSet<>();
    response
        .path("headers")
        .fieldNames()
        .forEachRemaining(name -> described.add(name.toLowerCase(Locale.ROOT)));
    // error responses that are common to all routes may have this field
    described.add("retry-after");
    for (String name : fields.keySet()) {
      String lower = name.toLowerCase(Locale.ROOT);
      require(
          !OF_WEIR.matcher(lower).matches() || described.contains(lower),
          what,
          "has the field " + name + ", which is not described");
    }
  }

  private void checkBody(String what, JsonNode response, @Nullable String type, String body) {
    JsonNode content = response.path("content");
    if (content.isEmpty()) {
      require(body.isEmpty(), what, "must have no body, but has: " + body);
      return;
    }
    require(type != null && content.has(type), what, "has an undescribed media type: " + type);
    if (type == null || !type.endsWith("json")) {
      return;
    }
    JsonNode schema = content.path(type).path("schema");
    Set<ValidationMessage> errors =
        schemas.computeIfAbsent(schema, this::compile).validate(parse(body));
    require(errors.isEmpty(), what, errors + " of " + body);
  }

  private JsonSchema compile(JsonNode schema) {
    ObjectNode root = JSON.createObjectNode();
    root.set("components", strictComponents);
    root.putArray("allOf").add(strict(schema.deepCopy()));
    return JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012).getSchema(root);
  }

  /** Changes every object schema that lists members, so that it forbids other members. */
  private static JsonNode strict(JsonNode tree) {
    tree.forEach(DescribedAnswers::strict);
    if (tree instanceof ObjectNode schema
        && schema.path("type").asText().equals("object")
        && schema.has("properties")
        && !schema.has("additionalProperties")) {
      schema.put("additionalProperties", false);
    }
    return tree;
  }

  private JsonNode resolved(JsonNode node) {
    String reference = node.path("$ref").asText();
    return reference.isEmpty() ? node : description.at(reference.substring(1));
  }

  /**
   * Returns the route that matches a path; null if no route matches. If several routes match, a
   * template without parameters has precedence, and then the longest template.
   */
  private @Nullable Route route(String path) {
    Route best = null;
    for (Route route : routes) {
      if (route.pattern().matcher(path).matches() && (best == null || isBetter(route, best))) {
        best = route;
      }
    }
    return best;
  }

  private static boolean isBetter(Route route, Route than) {
    boolean hasParameters = route.template().contains("{");
    boolean othersHas = than.template().contains("{");
    return hasParameters == othersHas
        ? route.template().length() > than.template().length()
        : othersHas;
  }

  private static @Nullable JsonNode operation(Route route, String method) {
    String name = method.equals("HEAD") ? "get" : method.toLowerCase(Locale.ROOT);
    return METHODS.contains(name) ? route.item().get(name) : null;
  }

  private static Pattern pattern(String template) {
    return Pattern.compile(template.replaceAll("\\{[^}]+}", "[^/]+"));
  }

  private static @Nullable String mediaType(Map<String, List<String>> fields) {
    for (Map.Entry<String, List<String>> field : fields.entrySet()) {
      if (field.getKey().equalsIgnoreCase("Content-Type")) {
        return field.getValue().get(0).split(";", 2)[0].strip();
      }
    }
    return null;
  }

  private static JsonNode parse(String text) {
    try {
      return JSON.readTree(text);
    } catch (JsonProcessingException notJson) {
      throw new AssertionError("not JSON: " + text, notJson);
    }
  }

  private static void require(boolean isSo, String what, String otherwise) {
    if (!isSo) {
      throw new AssertionError(what + ": " + otherwise);
    }
  }
}
