// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.topics.settings.Settings;
import io.weir.topics.settings.Settings.InvalidSettingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class AccessSettingsTest {
  @TempDir private static Path folder;

  private static String host(Map<String, String> variables) {
    Settings settings = Settings.of(variables);
    return AccessSettings.of(settings).host(settings, "WEIR_HTTP_HOST");
  }

  private static Map<String, String> withTokens() throws Exception {
    Path file = Files.writeString(folder.resolve("tokens.yml"), "tokens: []\n");
    Map<String, String> variables = new HashMap<>();
    variables.put("WEIR_TOKENS_FILE", file.toString());
    return variables;
  }

  @Test
  void withoutTokens_onlyThisMachineIsServed() throws Exception {
    assertEquals("127.0.0.1", host(Map.of()));
    assertEquals("::1", host(Map.of("WEIR_HTTP_HOST", "::1")));
    assertEquals("localhost", host(Map.of("WEIR_HTTP_HOST", "localhost")));
    assertEquals("0.0.0.0", host(withTokens()));
    assertEquals("0.0.0.0", host(Map.of("WEIR_UNPROTECTED", "allow")));
  }

  @ParameterizedTest
  @ValueSource(strings = {"0.0.0.0", "::", "10.0.0.1", "no.such.host.invalid"})
  void othersReachThePort_andNothingSaysWhoMay_isRefused(String address) throws Exception {
    InvalidSettingException refused =
        assertThrows(InvalidSettingException.class, () -> host(Map.of("WEIR_HTTP_HOST", address)));
    String said = String.valueOf(refused.getMessage());
    assertTrue(said.startsWith("WEIR_HTTP_HOST is " + address), said);
    assertTrue(said.contains("Set WEIR_TOKENS_FILE or WEIR_JWKS"), said);

    Map<String, String> variables = withTokens();
    variables.put("WEIR_HTTP_HOST", address);
    assertEquals(address, host(variables));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "WEIR_TOKENS_FILE=/nowhere | WEIR_TOKENS_FILE names a file that cannot be read",
        "WEIR_JWKS=/nowhere,WEIR_JWT_ISSUER=i,WEIR_JWT_AUDIENCE=a | WEIR_JWKS must be an https",
        "WEIR_JWKS=http://issuer.example/keys,WEIR_JWT_ISSUER=i,WEIR_JWT_AUDIENCE=a"
            + " | WEIR_JWKS must be an https",
        "WEIR_JWKS=https://issuer.example/keys | WEIR_JWT_ISSUER is not set",
        "WEIR_JWKS=https://issuer.example/k,WEIR_JWT_ISSUER=i | WEIR_JWT_AUDIENCE is not set",
        "WEIR_JWT_AUDIENCE=a | WEIR_JWKS is not set",
        "WEIR_PORTAL_KEY_FILE=/dev/null | or WEIR_JWKS must also be set",
        "WEIR_UNPROTECTED=yes | WEIR_UNPROTECTED must be one of refuse, allow",
        "WEIR_TLS_KEY=/dev/null | WEIR_TLS_CERTIFICATE is not set",
        "WEIR_TLS_CERTIFICATE=/dev/null | WEIR_TLS_KEY is not set",
        "WEIR_TLS_CERTIFICATE=/dev/null,WEIR_TLS_KEY=/dev/null,WEIR_TLS_KEYSTORE=/dev/null"
            + " | set only one of them",
        "WEIR_TLS_CLIENT_CA=/dev/null | WEIR_TLS_CERTIFICATE and WEIR_TLS_KEYSTORE are not set"
      })
  void wrong_isRefusedByItsName(String variables, String part) {
    Map<String, String> environment = new HashMap<>();
    for (String each : variables.split(",", -1)) {
      environment.put(each.substring(0, each.indexOf('=')), each.substring(each.indexOf('=') + 1));
    }
    InvalidSettingException refused =
        assertThrows(
            InvalidSettingException.class, () -> AccessSettings.of(Settings.of(environment)));
    assertTrue(String.valueOf(refused.getMessage()).contains(part), refused::toString);
  }
}
