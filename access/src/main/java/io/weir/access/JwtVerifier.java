// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.jwk.source.JWKSource;
import com.nimbusds.jose.proc.BadJOSEException;
import com.nimbusds.jose.proc.DefaultJOSEObjectTypeVerifier;
import com.nimbusds.jose.proc.JWSVerificationKeySelector;
import com.nimbusds.jose.proc.SecurityContext;
import com.nimbusds.jose.util.Base64URL;
import com.nimbusds.jwt.JWT;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.JWTParser;
import com.nimbusds.jwt.SignedJWT;
import com.nimbusds.jwt.proc.BadJWTException;
import com.nimbusds.jwt.proc.DefaultJWTClaimsVerifier;
import com.nimbusds.jwt.proc.DefaultJWTProcessor;
import java.text.ParseException;
import java.util.Map;
import java.util.Set;

/**
 * Verifies JSON Web Tokens (RFC 7519) that one issuer has signed for one audience: the only place
 * that says which signatures are accepted. Those by a shared secret, and none, are not.
 * Thread-safe.
 */
public final class JwtVerifier {
  private static final Set<JWSAlgorithm> ALGORITHMS =
      Set.of(
          JWSAlgorithm.RS256,
          JWSAlgorithm.RS384,
          JWSAlgorithm.RS512,
          JWSAlgorithm.PS256,
          JWSAlgorithm.PS384,
          JWSAlgorithm.PS512,
          JWSAlgorithm.ES256,
          JWSAlgorithm.ES384,
          JWSAlgorithm.ES512);

  private final DefaultJWTProcessor<SecurityContext> processor = new DefaultJWTProcessor<>();
  private final Set<String> required;

  /**
   * Creates a verifier.
   *
   * @param keys has the issuer's keys
   * @param required the claims that a token must have, besides {@code iss} and {@code aud}
   */
  public JwtVerifier(
      JWKSource<SecurityContext> keys, String issuer, String audience, Set<String> required) {
    this.required = Set.copyOf(required);
    processor.setJWSKeySelector(new JWSVerificationKeySelector<>(ALGORITHMS, keys));
    processor.setJWSTypeVerifier(
        new DefaultJOSEObjectTypeVerifier<>(
            JOSEObjectType.JWT, new JOSEObjectType("at+jwt"), null));
    processor.setJWTClaimsSetVerifier(
        new DefaultJWTClaimsVerifier<>(
            audience, new JWTClaimsSet.Builder().issuer(issuer).build(), required));
  }

  /** Returns whether signatures by an algorithm are accepted. */
  public static boolean accepts(JWSAlgorithm algorithm) {
    return ALGORITHMS.contains(algorithm);
  }

  /**
   * Returns whether a token is written in the one form that it has: the library passes over
   * characters around it, and over those of the signature that are not of Base64.
   */
  public static boolean isWrittenAsItShould(String token, SignedJWT signed) {
    return token.equals(signed.serialize())
        && token.endsWith("." + Base64URL.encode(signed.getSignature().decode()));
  }

  /**
   * Verifies a token, as long as the key takes that the source of keys has.
   *
   * @return its claims
   * @throws ParseException if it is no JWT
   * @throws BadJOSEException if it is not valid
   * @throws JOSEException if there are no keys, or the signature cannot be computed
   */
  public JWTClaimsSet verify(String token) throws ParseException, BadJOSEException, JOSEException {
    JWT jwt = parsed(token, JWTParser::parse);
    JWTClaimsSet claims = processor.process(jwt, null);
    requireTextSubject(jwt);
    for (String each : required) {
      if (claims.getClaim(each) == null) { // the library is content with one that is null
        throw new BadJWTException("JWT has no value of claim " + each);
      }
    }
    return claims;
  }

  /**
   * Refuses a subject that is not a text (RFC 7519 §4.1.2). The library converts a number to a
   * text, which could be the name of another client.
   */
  private static void requireTextSubject(JWT jwt) throws BadJWTException {
    if (jwt instanceof SignedJWT signed) {
      Map<String, Object> written = signed.getPayload().toJSONObject();
      Object subject = written == null ? null : written.get("sub");
      if (subject != null && !(subject instanceof String)) {
        throw new BadJWTException("JWT claim sub is not a text");
      }
    }
  }

  /**
   * Reads a token that is to be signed, without looking at its signature.
   *
   * @throws ParseException if it is none, whatever it holds
   */
  public static SignedJWT parse(String token) throws ParseException {
    return parsed(token, SignedJWT::parse);
  }

  private interface Parser<T> {
    T parse(String token) throws ParseException;
  }

  /** The library throws faults for some tokens, such as one whose header is {@code null}. */
  private static <T> T parsed(String token, Parser<T> parser) throws ParseException {
    try {
      return parser.parse(token);
    } catch (RuntimeException fault) {
      ParseException malformed = new ParseException("not the parts of a JWT", 0);
      malformed.initCause(fault);
      throw malformed;
    }
  }
}
