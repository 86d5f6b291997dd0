// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.access.Grant;
import io.weir.access.Scope;
import io.weir.access.TokenFile;
import io.weir.limits.policy.ApiKeyHash;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A node with tokens serves gateways that have one, however a caller writes the path. */
final class AuthzTokensIT {
  private static final String TOKEN = "weirt_gateway";

  @Test
  void question_withoutAToken_is401_alsoWhenItsPathLeadsToARouteOfEverybody(@TempDir Path folder)
      throws Exception {
    TokenFile tokens =
        TokenFile.empty()
            .with(
                new TokenFile.Entry(
                    ApiKeyHash.of(TOKEN),
                    new Grant("gateway", Set.of(Scope.CHECK), Set.of()),
                    null));
    Path file = Files.writeString(folder.resolve("tokens.yml"), tokens.text());
    try (TestNode node =
        TestNode.start(
            folder,
            Map.of("WEIR_TOKENS_FILE", file.toString(), "WEIR_AUTHZ_CLIENT_HEADER", "X-Client"))) {
      for (String path :
          List.of("/x", "/../../../health/live", "/../../../problems/x", "/%2e%2e/../../health/")) {
        String asked =
            "GET /v1/authz/envoy" + path + " HTTP/1.1\r\nHost: localhost\r\nX-Client: a\r\n";
        assertEquals(401, status(node, asked + "\r\n"), path);
        assertEquals(
            200, status(node, asked + "Authorization: Bearer " + TOKEN + "\r\n\r\n"), path);
      }
    }
  }

  private static int status(TestNode node, String request) throws Exception {
    try (RawHttp connection = node.connect()) {
      return connection.send(request).answer().status();
    }
  }
}
