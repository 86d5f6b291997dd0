// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.authz;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.access.AccessSettings;
import io.weir.access.JwksPlace;
import io.weir.access.caller.Caller;
import io.weir.access.caller.CallerTokenSettings;
import io.weir.access.caller.ClaimPath;
import io.weir.ingest.gate.Call;
import io.weir.ingest.gate.KeyedCall;
import io.weir.limits.IpAddress;
import io.weir.limits.Names;
import io.weir.limits.policy.ApiKeyHash;
import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import io.weir.topics.settings.Settings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class CallReaderTest {
  private static final RouteTemplates ROUTES = RouteTemplates.parse("GET /v1/items/{id}");
  private static final AuthzSettings BY_NAME =
      new AuthzSettings(new CallIdentity.ClientName("X-Client"), "X-Request-ID", 1, ROUTES);

  private final Map<String, List<String>> fields = new HashMap<>();

  private CallReader.Read read(AuthzSettings settings) {
    return new CallReader(settings)
        .read(name -> fields.getOrDefault(name, List.of()), "GET", "/v1/items/7?key=secret");
  }

  private Call named() {
    return (Call) assertInstanceOf(CallReader.Read.Asked.class, read(BY_NAME)).call();
  }

  private Problem refused(AuthzSettings settings) {
    return assertInstanceOf(CallReader.Read.Refused.class, read(settings)).problem();
  }

  @Test
  void call_ofANamedClient_isReadFromTheNamedFields() {
    fields.put("X-Client", List.of("acme"));
    fields.put("X-Request-ID", List.of("r-1"));
    fields.put("X-Forwarded-For", List.of("10.9.8.7, 203.0.113.7"));

    Call call = named();

    assertEquals("acme", call.facts().client());
    assertEquals("GET /v1/items/{id}", call.facts().endpoint());
    assertEquals("calls", call.facts().meter());
    assertEquals(IpAddress.parse("203.0.113.7"), call.facts().ip());
    assertEquals("r-1", call.id());
    assertEquals(1, call.cost());
  }

  @Test
  void call_withoutTrustedHops_hasNoAddress() {
    fields.put("X-Client", List.of("acme"));
    fields.put("X-Forwarded-For", List.of("203.0.113.7"));

    Call call =
        (Call)
            assertInstanceOf(
                    CallReader.Read.Asked.class,
                    read(new AuthzSettings(BY_NAME.identity(), null, 0, ROUTES)))
                .call();

    assertNull(call.facts().ip());
    assertNull(call.id());
  }

  @Test
  void client_isReadAsUtf8() {
    fields.put("X-Client", List.of("zo\u00c3\u00ab"));

    assertEquals("zo\u00eb", named().facts().client());
  }

  @Test
  void callWithoutClient_isUnknown() {
    for (List<String> values :
        List.of(
            List.<String>of(),
            List.of(""),
            List.of(" "),
            List.of("a", "b"),
            List.of("\u00ff"),
            List.of("a\u0001"),
            List.of("x".repeat(Names.MAX_BYTES + 1)))) {
      fields.put("X-Client", values);

      Problem problem = refused(BY_NAME);

      assertEquals(ProblemReason.CALLER_UNKNOWN, problem.reason());
      assertEquals("X-Client", problem.field());
    }
  }

  @Test
  void idThatIsNone_isLeftToTheNode() {
    fields.put("X-Client", List.of("acme"));
    for (List<String> values : List.of(List.of("a", "b"), List.of(""), List.of("\u00ff"))) {
      fields.put("X-Request-ID", values);

      assertNull(named().id());
    }
  }

  @Test
  void key_isReadFromItsField_orBehindTheScheme() {
    for (String header : List.of("X-API-Key", "Authorization")) {
      for (String prefix :
          header.equals("X-API-Key") ? List.of("") : List.of("Bearer ", "apikey ", "ApiKey   ")) {
        fields.put(header, List.of(prefix + "weir_1"));

        KeyedCall call =
            (KeyedCall)
                assertInstanceOf(
                        CallReader.Read.Asked.class,
                        read(
                            new AuthzSettings(new CallIdentity.ClientKey(header), null, 0, ROUTES)))
                    .call();

        assertEquals(ApiKeyHash.of("weir_1"), call.apiKey());
      }
    }
  }

  @Test
  void authorizationOfAnotherScheme_isUnknown_andNotRepeated() {
    AuthzSettings settings =
        new AuthzSettings(new CallIdentity.ClientKey("Authorization"), null, 0, ROUTES);
    fields.put("Authorization", List.of("Basic c2VjcmV0"));

    Problem problem = refused(settings);

    assertEquals(ProblemReason.CALLER_UNKNOWN, problem.reason());
    assertFalse(problem.detail().contains("c2VjcmV0"), problem.detail());
  }

  private static AuthzSettings byToken(String header, @Nullable CallIdentity otherwise) {
    CallerTokenSettings tokens =
        new CallerTokenSettings(
            new JwksPlace("WEIR_AUTHZ_JWT_JWKS", "https://issuer.example/keys"),
            "https://issuer.example",
            "shop",
            Objects.requireNonNull(ClaimPath.parse("sub")),
            Map.of());
    return new AuthzSettings(
        new CallIdentity.ClientToken(header, tokens, otherwise), "X-Request-ID", 1, ROUTES);
  }

  @Test
  void token_isReadFromItsField_andNamesTheClientOnceItIsVerified() {
    fields.put("X-Request-ID", List.of("r-1"));
    fields.put("X-Forwarded-For", List.of("203.0.113.7"));
    for (String header : List.of("Authorization", "authorization", "X-Token")) {
      for (String prefix :
          header.equals("X-Token") ? List.of("", "Bearer ") : List.of("Bearer ", "bEARER   ")) {
        fields.put(header, List.of(prefix + "a.b.c"));

        CallReader.Read.Presented presented =
            assertInstanceOf(CallReader.Read.Presented.class, read(byToken(header, null)));
        assertEquals("a.b.c", presented.token());
        assertFalse(presented.toString().contains("a.b.c"));
        Call call = (Call) presented.of(new Caller("acme", Map.of("plan", "gold"))).call();

        assertEquals("acme", call.facts().client());
        assertEquals(Map.of("plan", "gold"), call.facts().attributes());
        assertEquals("GET /v1/items/{id}", call.facts().endpoint());
        assertEquals(IpAddress.parse("203.0.113.7"), call.facts().ip());
        assertEquals("r-1", call.id());
      }
    }
  }

  @Test
  void callWithoutAToken_isChallengedToOne() {
    for (List<String> values :
        List.of(List.<String>of(), List.of(""), List.of("Bearer "), List.of("Basic c2VjcmV0"))) {
      fields.put("Authorization", values);

      CallReader.Read.Refused refused =
          assertInstanceOf(CallReader.Read.Refused.class, read(byToken("Authorization", null)));

      assertEquals(ProblemReason.CALLER_UNKNOWN, refused.problem().reason());
      assertEquals("Authorization", refused.problem().field());
      assertEquals("Bearer realm=\"weir\"", refused.challenge());
      assertFalse(refused.problem().detail().contains("c2VjcmV0"), refused::toString);
    }
  }

  @Test
  void tokenThatIsTooLong_isNotVerified() {
    fields.put("Authorization", List.of("Bearer " + "x".repeat(6_145)));

    CallReader.Read.Refused refused =
        assertInstanceOf(CallReader.Read.Refused.class, read(byToken("Authorization", null)));

    assertEquals(
        "Bearer realm=\"weir\", error=\"invalid_token\", error_description=\"the token has more than"
            + " 6144 characters\"",
        refused.challenge());
  }

  /** A caller must not be able to choose by which of two it is known. */
  @Test
  void tokenIsReadFirst_otherFieldsAreIgnored() {
    for (CallIdentity next :
        List.of(new CallIdentity.ClientName("X-Client"), new CallIdentity.ClientKey("X-Key"))) {
      AuthzSettings settings = byToken("Authorization", next);
      fields.put(next.header(), List.of("other"));
      fields.put("Authorization", List.of("Bearer a.b.c"));
      assertInstanceOf(CallReader.Read.Presented.class, read(settings));

      // two tokens are not as if there were none
      fields.put("Authorization", List.of("Bearer a.b.c", "Bearer d.e.f"));
      assertEquals("Authorization", refused(settings).field());
      fields.put("Authorization", List.of("Basic x", ""));
      assertEquals("Authorization", refused(settings).field());
      fields.put("Authorization", List.of("Bearer " + "x".repeat(6_145)));
      assertEquals("Authorization", refused(settings).field());

      fields.put("Authorization", List.of("Basic c2VjcmV0"));
      assertInstanceOf(CallReader.Read.Asked.class, read(settings));
      fields.remove("Authorization");
      assertInstanceOf(CallReader.Read.Asked.class, read(settings));
      fields.remove(next.header());
      CallReader.Read.Refused refused =
          assertInstanceOf(CallReader.Read.Refused.class, read(settings));
      assertEquals(next.header(), refused.problem().field());
      assertEquals("Bearer realm=\"weir\", ApiKey", refused.challenge());
    }
  }

  @Test
  void authorization_hasATokenBehindBearer_andAKeyBehindApiKey() {
    AuthzSettings settings = byToken("Authorization", new CallIdentity.ClientKey("Authorization"));
    fields.put("Authorization", List.of("ApiKey weir_1"));
    KeyedCall call =
        (KeyedCall) assertInstanceOf(CallReader.Read.Asked.class, read(settings)).call();
    assertEquals(ApiKeyHash.of("weir_1"), call.apiKey());

    fields.put("Authorization", List.of("Bearer weir_1"));
    assertInstanceOf(CallReader.Read.Presented.class, read(settings));
  }

  @Test
  void settingsOfTokens_thatContradictEachOther_areRefusedByName(@TempDir Path folder)
      throws Exception {
    Path keys = Files.writeString(folder.resolve("jwks.json"), "{\"keys\":[]}");
    Map<String, String> tokens =
        Map.of(
            "WEIR_AUTHZ_JWT_JWKS", keys.toString(),
            "WEIR_AUTHZ_JWT_ISSUER", "https://issuer.example",
            "WEIR_AUTHZ_JWT_AUDIENCE", "shop",
            "WEIR_AUTHZ_JWT_CLIENT_CLAIM", "sub");
    CallIdentity.ClientToken read =
        (CallIdentity.ClientToken)
            AuthzSettings.of(Settings.of(tokens), AccessSettings.NONE).identity();
    assertEquals("Authorization", Objects.requireNonNull(read).header());
    assertNull(read.otherwise());

    assertWrong(
        with(tokens, Map.of("WEIR_AUTHZ_API_KEY_HEADER", "X-API-Key")),
        "WEIR_AUTHZ_JWT_JWKS and WEIR_AUTHZ_API_KEY_HEADER are both set; set only one of them, or"
            + " set WEIR_AUTHZ_JWT_MISSING=next to use the second setting for calls without a"
            + " token");
    assertWrong(
        with(tokens, Map.of("WEIR_AUTHZ_JWT_MISSING", "next")),
        "WEIR_AUTHZ_JWT_MISSING has the value next, but neither WEIR_AUTHZ_CLIENT_HEADER nor "
            + "WEIR_AUTHZ_API_KEY_HEADER is set; set one of them");
    assertWrong(
        with(
            tokens,
            Map.of(
                "WEIR_AUTHZ_JWT_MISSING", "next",
                "WEIR_AUTHZ_JWT_HEADER", "X-Caller",
                "WEIR_AUTHZ_CLIENT_HEADER", "x-caller")),
        "WEIR_AUTHZ_JWT_HEADER must name a header field that no other setting uses, but is "
            + "'X-Caller'");
    assertWrong(
        Map.of("WEIR_AUTHZ_JWT_HEADER", "X-Caller"),
        "WEIR_AUTHZ_JWT_JWKS is not set; WEIR_AUTHZ_JWT_JWKS, WEIR_AUTHZ_JWT_ISSUER,"
            + " WEIR_AUTHZ_JWT_AUDIENCE and WEIR_AUTHZ_JWT_CLIENT_CLAIM must be set together");

    // Authorization has the token of the gateway then
    Path ofPort = Files.writeString(folder.resolve("tokens.yml"), "tokens: []");
    AccessSettings access =
        AccessSettings.of(Settings.of(Map.of("WEIR_TOKENS_FILE", ofPort.toString())));
    assertEquals(
        "Authorization contains the gateway's own token, so callers' tokens need another field; set"
            + " WEIR_AUTHZ_JWT_HEADER",
        assertThrows(
                Settings.InvalidSettingException.class,
                () -> AuthzSettings.of(Settings.of(tokens), access))
            .getMessage());
    CallIdentity inItsField =
        AuthzSettings.of(
                Settings.of(with(tokens, Map.of("WEIR_AUTHZ_JWT_HEADER", "X-Caller"))), access)
            .identity();
    assertEquals("X-Caller", Objects.requireNonNull(inItsField).header());
  }

  private static Map<String, String> with(Map<String, String> some, Map<String, String> others) {
    Map<String, String> all = new HashMap<>(some);
    all.putAll(others);
    return all;
  }

  @Test
  void withoutIdentity_theProblemNamesTheSettings() {
    Problem problem = refused(AuthzSettings.OFF);

    assertEquals(ProblemReason.AUTHZ_NOT_CONFIGURED, problem.reason());
    assertTrue(problem.detail().contains("WEIR_AUTHZ_CLIENT_HEADER"), problem.detail());
    assertTrue(problem.detail().contains("WEIR_AUTHZ_API_KEY_HEADER"), problem.detail());
    assertTrue(problem.detail().contains("WEIR_AUTHZ_JWT_JWKS"), problem.detail());
  }

  @Test
  void anyBytes_areACallOfAKnownEndpoint_orAnUnknownCaller() {
    for (long seed = 1; seed <= 30_000; seed++) {
      Random random = new Random(seed);
      for (String name : List.of("X-Client", "X-Request-ID", "X-Forwarded-For")) {
        List<String> values = new ArrayList<>();
        for (int left = random.nextInt(3); left > 0; left--) {
          values.add(RandomBytes.text(random, 20));
        }
        fields.put(name, values);
      }
      String target = RandomBytes.target(random);

      CallReader.Read read =
          new CallReader(BY_NAME)
              .read(
                  name -> fields.getOrDefault(name, List.of()),
                  RandomBytes.text(random, 5),
                  target);

      if (read instanceof CallReader.Read.Asked asked) {
        Call call = (Call) asked.call();
        assertNull(Names.violation(call.facts().client()), "seed " + seed);
        assertEquals("OTHER other", call.facts().endpoint(), "seed " + seed);
      } else {
        Problem problem = ((CallReader.Read.Refused) read).problem();
        assertEquals(ProblemReason.CALLER_UNKNOWN, problem.reason(), "seed " + seed);
      }
    }
  }

  @Test
  void settings_thatAreWrong_areRefusedByName() {
    assertWrong(
        Map.of("WEIR_AUTHZ_CLIENT_HEADER", "a", "WEIR_AUTHZ_API_KEY_HEADER", "b"),
        "WEIR_AUTHZ_CLIENT_HEADER and WEIR_AUTHZ_API_KEY_HEADER are both set; set only one of "
            + "them");
    assertWrong(
        Map.of("WEIR_AUTHZ_CLIENT_HEADER", "a b"),
        "WEIR_AUTHZ_CLIENT_HEADER must be the name of a header field, of 1 to 64 characters, but is"
            + " 'a b'");
    assertWrong(
        Map.of("WEIR_AUTHZ_TRUSTED_HOPS", "17"),
        "WEIR_AUTHZ_TRUSTED_HOPS must be an integer from 0 to 16, but is '17'");
    assertWrong(
        Map.of("WEIR_AUTHZ_ROUTES", "no-such-file"),
        "WEIR_AUTHZ_ROUTES names a file that cannot be read: no-such-file");
  }

  private static void assertWrong(Map<String, String> variables, String message) {
    IllegalArgumentException refused =
        assertThrows(
            Settings.InvalidSettingException.class,
            () -> AuthzSettings.of(Settings.of(variables), AccessSettings.NONE));

    assertEquals(message, refused.getMessage());
  }
}
