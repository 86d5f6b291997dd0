// SPDX-License-Identifier: Apache-2.0
package io.weir.servers.testing;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.crypto.RSASSASigner;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.RSAKey;
import com.nimbusds.jose.jwk.gen.RSAKeyGenerator;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Base64;
import java.util.Date;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A minimal OAuth token endpoint. If a client sends its secret, the endpoint issues a signed token
 * (RFC 6749 §4.4). Thread-safe.
 */
final class TokenIssuer implements AutoCloseable {
  private static final int KEY_BITS = 2_048;
  private static final long VALID_SECONDS = 3_600;

  private final HttpServer server;
  private final RSAKey key;
  private final String audience;
  private final Map<String, String> secrets = new ConcurrentHashMap<>();

  private TokenIssuer(HttpServer server, RSAKey key, String audience) {
    this.server = server;
    this.key = key;
    this.audience = audience;
  }

  /** Starts an issuer of tokens for the given audience. */
  static TokenIssuer start(String audience) throws IOException {
    try {
      RSAKey key =
          new RSAKeyGenerator(KEY_BITS).keyID("test").algorithm(JWSAlgorithm.RS256).generate();
      HttpServer server =
          HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
      TokenIssuer issuer = new TokenIssuer(server, key, audience);
      server.createContext("/token", issuer::answer);
      server.start();
      return issuer;
    } catch (JOSEException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  /** Adds a client with its secret. */
  void add(String client, String secret) {
    secrets.put(client, secret);
  }

  /** Returns the URL of the token endpoint. */
  String endpoint() {
    return "http://127.0.0.1:" + server.getAddress().getPort() + "/token";
  }

  /** Writes the public keys that verify the tokens (RFC 7517) to a file. */
  Path writeKeys(Path file) throws IOException {
    return Files.writeString(file, new JWKSet(key).toString(true));
  }

  private void answer(HttpExchange exchange) throws IOException {
    String authorization = String.valueOf(exchange.getRequestHeaders().getFirst("Authorization"));
    String given =
        new String(
            Base64.getDecoder().decode(authorization.replaceFirst("^Basic ", "")),
            StandardCharsets.UTF_8);
    String client = given.split(":", 2)[0];
    boolean isKnown = given.equals(client + ":" + secrets.get(client));
    byte[] body =
        (isKnown
                ? "{\"access_token\":\"%s\",\"token_type\":\"Bearer\",\"expires_in\":%d}"
                    .formatted(token(client), VALID_SECONDS)
                : "{\"error\":\"invalid_client\"}")
            .getBytes(StandardCharsets.UTF_8);
    exchange.getResponseHeaders().set("Content-Type", "application/json");
    exchange.sendResponseHeaders(isKnown ? 200 : 401, body.length);
    exchange.getResponseBody().write(body);
    exchange.close();
  }

  private String token(String client) {
    Instant now = Instant.now();
    SignedJWT token =
        new SignedJWT(
            new JWSHeader.Builder(JWSAlgorithm.RS256).keyID(key.getKeyID()).build(),
            new JWTClaimsSet.Builder()
                .subject(client)
                .audience(audience)
                .issueTime(Date.from(now))
                .expirationTime(Date.from(now.plusSeconds(VALID_SECONDS)))
                .build());
    try {
      token.sign(new RSASSASigner(key));
    } catch (JOSEException impossible) {
      throw new IllegalStateException(impossible);
    }
    return token.serialize();
  }

  @Override
  public void close() {
    server.stop(0);
  }
}
