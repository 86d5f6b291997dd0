// SPDX-License-Identifier: Apache-2.0
package io.weir.servers.testing;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.crypto.ECDSASigner;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.gen.ECKeyGenerator;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * An issuer of tokens (JWT) for the callers of a gateway. The issuer signs the given claims, and
 * publishes its keys over HTTP (RFC 7517). Thread-safe.
 */
public final class CallerIssuer implements AutoCloseable {
  /** The value of the claim {@code iss} of all tokens. */
  public static final String NAME = "https://callers.example";

  /** The value of the claim {@code aud} of all tokens. */
  public static final String AUDIENCE = "shop";

  private static final long VALID_SECONDS = 600;

  private final HttpServer server;
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final AtomicInteger fetches = new AtomicInteger();
  private volatile List<ECKey> published;
  private volatile int status = 200;
  private volatile CountDownLatch released = new CountDownLatch(0);

  private CallerIssuer(HttpServer server, ECKey key) {
    this.server = server;
    this.published = List.of(key);
  }

  /** Starts an issuer with one key. */
  public static CallerIssuer start() throws IOException {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    CallerIssuer issuer = new CallerIssuer(server, key("first"));
    server.setExecutor(issuer.threads);
    server.createContext("/keys", issuer::answer);
    server.start();
    return issuer;
  }

  /** Creates a key without publishing it. */
  public static ECKey key(String id) {
    try {
      return new ECKeyGenerator(Curve.P_256).keyID(id).generate();
    } catch (JOSEException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  /** Returns settings with which a node identifies clients by a claim of these tokens. */
  public Map<String, String> settings(String clientClaim) {
    Map<String, String> settings = new TreeMap<>();
    settings.put("WEIR_AUTHZ_JWT_JWKS", url());
    settings.put("WEIR_AUTHZ_JWT_ISSUER", NAME);
    settings.put("WEIR_AUTHZ_JWT_AUDIENCE", AUDIENCE);
    settings.put("WEIR_AUTHZ_JWT_CLIENT_CLAIM", clientClaim);
    return settings;
  }

  /** Returns the URL of the published keys. */
  public String url() {
    return "http://127.0.0.1:" + server.getAddress().getPort() + "/keys";
  }

  /** Returns the published keys as a JSON Web Key Set. */
  public String keys() {
    return new JWKSet(List.copyOf(published)).toString(true);
  }

  /** Returns the first published key, which signs tokens. */
  public ECKey key() {
    return published.get(0);
  }

  /** Publishes other keys. The first key signs tokens from now on. */
  public void publish(ECKey... keys) {
    published = List.of(keys);
  }

  /** Sets the HTTP status of the following responses. */
  public void answerWith(int newStatus) {
    status = newStatus;
  }

  /** Delays the responses to all requests for the keys until {@link #release}. */
  public void hold() {
    released = new CountDownLatch(1);
  }

  /** Ends the delay of responses. */
  public void release() {
    released.countDown();
  }

  /** Returns the number of requests for the keys so far. */
  public int fetches() {
    return fetches.get();
  }

  /** Returns claims for a token that is valid for some minutes. */
  public static JWTClaimsSet.Builder claims(String subject) {
    return new JWTClaimsSet.Builder()
        .issuer(NAME)
        .audience(AUDIENCE)
        .subject(subject)
        .expirationTime(Date.from(Instant.now().plusSeconds(VALID_SECONDS)));
  }

  /** Returns a valid token of a subject. */
  public String token(String subject) {
    return sign(claims(subject));
  }

  /** Returns a token with the given claims, signed by the first published key. */
  public String sign(JWTClaimsSet.Builder claims) {
    return sign(key(), claims);
  }

  /** Returns a token with the given claims, signed by the given key. */
  public static String sign(ECKey key, JWTClaimsSet.Builder claims) {
    SignedJWT token =
        new SignedJWT(
            new JWSHeader.Builder(JWSAlgorithm.ES256).keyID(key.getKeyID()).build(),
            claims.build());
    try {
      token.sign(new ECDSASigner(key));
    } catch (JOSEException impossible) {
      throw new IllegalStateException(impossible);
    }
    return token.serialize();
  }

  private void answer(HttpExchange exchange) throws IOException {
    fetches.incrementAndGet();
    try {
      released.await();
    } catch (InterruptedException stopping) {
      Thread.currentThread().interrupt();
    }
    byte[] body = keys().getBytes(StandardCharsets.UTF_8);
    exchange.getResponseHeaders().set("Content-Type", "application/jwk-set+json");
    exchange.sendResponseHeaders(status, body.length);
    exchange.getResponseBody().write(body);
    exchange.close();
  }

  @Override
  public void close() {
    released.countDown();
    server.stop(0);
    threads.shutdownNow();
  }
}
