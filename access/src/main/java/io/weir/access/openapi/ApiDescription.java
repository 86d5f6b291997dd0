// SPDX-License-Identifier: Apache-2.0
package io.weir.access.openapi;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.weir.topics.problem.ProblemReason;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Objects;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;

/**
 * The description of an HTTP API in OpenAPI 3.1. The file {@code common.yml} contains the parts
 * that both APIs share, such as the schema of a problem. Immutable.
 *
 * @see <a href="https://spec.openapis.org/oas/v3.1.1.html">OpenAPI 3.1.1</a>
 */
public final class ApiDescription {
  private static final String COMMON = "common.yml";

  private final JsonNode document;

  private ApiDescription(JsonNode document) {
    this.document = document;
  }

  /** Returns the description of the check API. */
  public static ApiDescription ofCheckApi() {
    return load("check-api.yml");
  }

  /** Returns the description of the reports API. */
  public static ApiDescription ofReportsApi() {
    return load("reports-api.yml");
  }

  private static ApiDescription load(String resource) {
    ObjectNode document = read(COMMON);
    merge(document, read(resource));
    ArrayNode reasons =
        document
            .withObject("/components/schemas/Reason")
            .put("type", "string")
            .put("description", "The reason of the problem. Its page is /problems/{reason}.")
            .putArray("enum");
    for (ProblemReason reason : ProblemReason.values()) {
      reasons.add(reason.word());
    }
    return new ApiDescription(document);
  }

  /**
   * Merges the members of one object into another object. Merges objects under the same name
   * recursively.
   */
  private static void merge(ObjectNode into, ObjectNode from) {
    from.properties()
        .forEach(
            member -> {
              if (into.get(member.getKey()) instanceof ObjectNode both
                  && member.getValue() instanceof ObjectNode more) {
                merge(both, more);
              } else {
                into.set(member.getKey(), member.getValue());
              }
            });
  }

  /** Reads a file with SnakeYAML because Jackson does not resolve anchors. */
  private static ObjectNode read(String resource) {
    LoaderOptions options = new LoaderOptions();
    options.setAllowDuplicateKeys(false);
    options.setMaxAliasesForCollections(1_000);
    try (InputStream file =
        Objects.requireNonNull(ApiDescription.class.getResourceAsStream(resource), resource)) {
      Object content = new Yaml(new SafeConstructor(options)).load(file);
      return (ObjectNode) new JsonMapper().valueToTree(content);
    } catch (IOException unreadable) {
      throw new UncheckedIOException(resource, unreadable);
    }
  }

  /** Returns the title of the API. */
  public String title() {
    return document.path("info").path("title").asText();
  }

  /** Returns the document as JSON text. */
  public String json() {
    return document.toString();
  }
}
