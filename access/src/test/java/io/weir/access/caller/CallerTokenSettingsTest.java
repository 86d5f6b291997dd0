// SPDX-License-Identifier: Apache-2.0
package io.weir.access.caller;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.weir.topics.settings.Settings;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

final class CallerTokenSettingsTest {
  private static final Map<String, String> WHOLE =
      Map.of(
          "WEIR_AUTHZ_JWT_JWKS", "https://user:secret@issuer.example/keys?key=secret",
          "WEIR_AUTHZ_JWT_ISSUER", "https://issuer.example",
          "WEIR_AUTHZ_JWT_AUDIENCE", "shop",
          "WEIR_AUTHZ_JWT_CLIENT_CLAIM", "/org/id");

  private static CallerTokenSettings read(String variable, String value) {
    Map<String, String> variables = new HashMap<>(WHOLE);
    variables.put(variable, value);
    return Objects.requireNonNull(CallerTokenSettings.of(Settings.of(variables)));
  }

  private static String refusal(String variable, String value) {
    return String.valueOf(
        assertThrows(Settings.InvalidSettingException.class, () -> read(variable, value))
            .getMessage());
  }

  @Test
  void settings_areReadWhole_andShowNoSecret() {
    CallerTokenSettings settings =
        read("WEIR_AUTHZ_JWT_ATTRIBUTES", "plan, tier=/org/tier,level = https://example.com/l");

    assertEquals(List.of("org", "id"), settings.client().names());
    assertEquals(
        Map.of(
            "plan", ClaimPath.parse("plan"),
            "tier", ClaimPath.parse("/org/tier"),
            "level", ClaimPath.parse("https://example.com/l")),
        settings.attributes());
    assertFalse(settings.toString().contains("secret"), settings.toString());
    assertNull(CallerTokenSettings.of(Settings.of(Map.of("WEIR_JWT_ISSUER", "x"))));
  }

  @Test
  void settingThatIsMissing_isNamed() {
    for (String variable : WHOLE.keySet()) {
      assertEquals(
          variable
              + " is not set; WEIR_AUTHZ_JWT_JWKS, WEIR_AUTHZ_JWT_ISSUER, WEIR_AUTHZ_JWT_AUDIENCE"
              + " and WEIR_AUTHZ_JWT_CLIENT_CLAIM must be set together",
          refusal(variable, ""));
    }
  }

  @Test
  void settingThatIsWrong_isNamed() {
    // over plain HTTP, an attacker in the network could replace the keys
    for (String place : List.of("http://issuer.example/keys", "no-such-file", "https:///keys")) {
      assertEquals(
          "WEIR_AUTHZ_JWT_JWKS must be an https URL or a file that can be read, but is '"
              + place
              + "'",
          refusal("WEIR_AUTHZ_JWT_JWKS", place));
    }
    assertEquals(
        "WEIR_AUTHZ_JWT_CLIENT_CLAIM must be the name of a claim, or a JSON Pointer such as"
            + " /org/id, of 1 to 128 visible ASCII characters without comma, equals sign, quotation"
            + " mark and backslash, but is '/org/'",
        refusal("WEIR_AUTHZ_JWT_CLIENT_CLAIM", "/org/"));
    for (String list : List.of("plan,/org/tier", "plan,", ",", "a b=plan")) {
      assertEquals(
          true,
          refusal("WEIR_AUTHZ_JWT_ATTRIBUTES", list)
              .startsWith("WEIR_AUTHZ_JWT_ATTRIBUTES must be claims separated by commas"),
          list);
    }
    assertEquals(
        "WEIR_AUTHZ_JWT_ATTRIBUTES must not have the attribute 'plan' twice",
        refusal("WEIR_AUTHZ_JWT_ATTRIBUTES", "plan,plan=/org/plan"));
    assertEquals(
        "WEIR_AUTHZ_JWT_ATTRIBUTES must have at most 16 claims, but has 17",
        refusal("WEIR_AUTHZ_JWT_ATTRIBUTES", "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q"));
  }
}
