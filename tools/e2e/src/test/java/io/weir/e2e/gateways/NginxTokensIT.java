// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.gateways;

import io.weir.servers.testing.CallerIssuer;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Debian's nginx in front of nodes that know callers by their tokens, configured as documented. */
final class NginxTokensIT {
  @Test
  void callerWithATokenOfItsIssuer_isTheClientOfItsClaim(@TempDir Path folder) throws Exception {
    try (Shop shop = Shop.open();
        CallerIssuer issuer = CallerIssuer.start();
        TwoNodes nodes = TwoNodes.start(folder, settings(issuer));
        Gateway gateway = Gateway.nginxWithTokens(folder, nodes, shop)) {
      GatewayProof.limitsTheClientOfAClaim(gateway, shop, issuer);
    }
  }

  /** Returns the settings of the page, with the keys of another issuer. */
  private static Map<String, String> settings(CallerIssuer issuer) throws IOException {
    Map<String, String> settings = new HashMap<>(Recipe.settings());
    settings.remove("WEIR_AUTHZ_API_KEY_HEADER");
    settings.putAll(Recipe.settings("WEIR_AUTHZ_JWT_JWKS="));
    settings.put("WEIR_AUTHZ_JWT_JWKS", issuer.url());
    settings.put("WEIR_AUTHZ_JWT_ISSUER", CallerIssuer.NAME);
    return settings;
  }
}
