// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static io.weir.ingest.http.CallersNode.CHALLENGE;
import static io.weir.ingest.http.CallersNode.claims;
import static io.weir.ingest.http.CallersNode.field;
import static io.weir.ingest.http.CallersNode.told;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.nimbusds.jose.jwk.ECKey;
import io.weir.servers.testing.CallerIssuer;
import io.weir.testing.Await;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/**
 * A node whose callers have tokens or are identified by a field, and whose issuer changes its keys.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class AuthzCallerKeysIT {
  private CallersNode node;

  @BeforeAll
  void start(@TempDir Path folder) throws Exception {
    node =
        CallersNode.start(
            folder,
            Map.of(
                "WEIR_AUTHZ_JWT_HEADER", "X-Caller",
                "WEIR_AUTHZ_JWT_MISSING", "next",
                "WEIR_AUTHZ_CLIENT_HEADER", "X-Client"));
  }

  @AfterAll
  void stop() {
    if (node != null) {
      node.close();
    }
  }

  private HttpResponse<String> askPlain(String... fields) throws Exception {
    return node.ask(AuthzDialect.PLAIN, fields);
  }

  /** A caller must not be able to choose by which of two it is known. */
  @Test
  void tokenTakesPrecedence_andABadOneIsNotAsIfThereWereNone() throws Exception {
    String token = node.issuer.sign(claims("by-token"));
    for (int i = 0; i < 2; i++) {
      assertEquals(200, askPlain("X-Caller", token, "X-Client", "by-field-" + i).statusCode());
    }
    HttpResponse<String> denied = askPlain("X-Caller", token, "X-Client", "by-field");
    assertEquals(429, denied.statusCode(), () -> told(denied));
    assertTrue(denied.body().contains("\"client\":\"by-token\""), denied.body());

    HttpResponse<String> bad = askPlain("X-Caller", token + "x", "X-Client", "by-field");
    assertEquals(401, bad.statusCode(), () -> told(bad));
    HttpResponse<String> two =
        askPlain("X-Caller", token, "X-Caller", token, "X-Client", "by-field");
    assertEquals(401, two.statusCode(), () -> told(two));
    for (int i = 0; i < 2; i++) {
      HttpResponse<String> byField = askPlain("X-Client", "by-field");
      assertEquals(200, byField.statusCode(), () -> told(byField));
    }
    assertEquals(429, askPlain("X-Client", "by-field").statusCode());
    HttpResponse<String> neither = askPlain();
    assertEquals(401, neither.statusCode(), () -> told(neither));
    assertEquals(CHALLENGE + ", ApiKey", field(neither, "WWW-Authenticate"));
  }

  @Test
  void issuerThatChangesItsKeys_afterAnOutage_isFollowed() throws Exception {
    ECKey before = node.issuer.key();
    ECKey next = CallerIssuer.key("next");
    String old = node.issuer.sign(claims("rotates"));
    assertEquals(200, askPlain("X-Caller", old).statusCode());

    node.issuer.publish(next, before);
    String ofNext = CallerIssuer.sign(next, claims("rotates"));
    Await.until(
        "the new key to be fetched", () -> askPlain("X-Caller", ofNext).statusCode() == 200);
    assertEquals(429, askPlain("X-Caller", old).statusCode());

    node.issuer.publish(next);
    String unknown = CallerIssuer.sign(CallerIssuer.key("unknown"), claims("unknown"));
    Await.until(
        "the old key to be taken back",
        () ->
            askPlain("X-Caller", unknown).statusCode() == 401
                && askPlain("X-Caller", old).statusCode() == 401);

    node.issuer.answerWith(500);
    Await.until("the issuer to be missed", () -> askPlain("X-Caller", unknown).statusCode() == 503);
    HttpResponse<String> away = askPlain("X-Caller", unknown);
    assertEquals("caller-keys-unavailable", field(away, "X-RateLimit-Reason"));
    assertTrue(Long.parseLong(field(away, "Retry-After")) > 0, () -> told(away));
    HttpResponse<String> known =
        askPlain("X-Caller", node.issuer.sign(claims("away").jwtID("never seen")));
    assertEquals(200, known.statusCode(), () -> told(known));
    node.issuer.answerWith(200);
  }
}
