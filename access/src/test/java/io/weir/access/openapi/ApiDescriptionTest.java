// SPDX-License-Identifier: Apache-2.0
package io.weir.access.openapi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.swagger.v3.parser.OpenAPIV3Parser;
import io.swagger.v3.parser.core.models.ParseOptions;
import io.swagger.v3.parser.core.models.SwaggerParseResult;
import io.weir.topics.problem.ProblemReason;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests the descriptions. The tests of the servers compare responses with the descriptions. */
final class ApiDescriptionTest {
  static List<ApiDescription> descriptions() {
    return List.of(ApiDescription.ofCheckApi(), ApiDescription.ofReportsApi());
  }

  @ParameterizedTest
  @MethodSource("descriptions")
  void document_isOpenApi31_toAParserOfOthers(ApiDescription api) {
    SwaggerParseResult parsed =
        new OpenAPIV3Parser().readContents(api.json(), null, new ParseOptions());

    assertEquals(List.of(), parsed.getMessages());
    assertEquals("3.1.0", parsed.getOpenAPI().getOpenapi());
    assertEquals(api.title(), parsed.getOpenAPI().getInfo().getTitle());
  }

  @ParameterizedTest
  @MethodSource("descriptions")
  void operations_haveANameOfTheirOwn_aSummary_andATagThatIsExplained(ApiDescription api)
      throws Exception {
    JsonNode document = new JsonMapper().readTree(api.json());
    Set<String> tags = new HashSet<>();
    document.path("tags").forEach(tag -> tags.add(tag.path("name").asText()));
    Set<String> names = new HashSet<>();
    for (JsonNode path : document.path("paths")) {
      for (String method : List.of("get", "put", "post", "delete")) {
        JsonNode operation = path.path(method);
        if (!operation.isMissingNode()) {
          String name = operation.path("operationId").asText();
          assertTrue(names.add(name), name);
          assertFalse(operation.path("summary").asText().isEmpty(), name);
          assertTrue(tags.contains(operation.path("tags").path(0).asText()), name);
          assertTrue(operation.path("responses").has("default"), name);
        }
      }
    }
    assertTrue(names.size() > 10, names::toString);
  }

  @ParameterizedTest
  @MethodSource("descriptions")
  void references_leadToSomething(ApiDescription api) throws Exception {
    JsonNode document = new JsonMapper().readTree(api.json());
    List<String> references = document.findValuesAsText("$ref");

    assertEquals(
        List.of(),
        references.stream()
            .filter(each -> document.at(each.substring(1)).isMissingNode())
            .toList());
  }

  @ParameterizedTest
  @MethodSource("descriptions")
  void reasons_areThoseOfTheCode(ApiDescription api) throws Exception {
    List<String> described = new ArrayList<>();
    new JsonMapper()
        .readTree(api.json())
        .at("/components/schemas/Reason/enum")
        .forEach(reason -> described.add(reason.asText()));

    assertEquals(
        Arrays.stream(ProblemReason.values()).map(ProblemReason::word).toList(), described);
  }
}
