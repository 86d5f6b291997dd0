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
 * Verifies JSON Web Tokens (RFC 7519) of one issuer for one audience. Only this class defines the
 * accepted signature algorithms. This class rejects signatures with a shared secret, and tokens
 * without a signature. Thread-safe.
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
   * @param keys the source of the issuer's keys
   * @param required the claims that a token must have, in addition to {@code iss} and {@code aud}
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

  /** Returns whether a signature algorithm is accepted. */
  public static boolean accepts(JWSAlgorithm algorithm) {
    return ALGORITHMS.contains(algorithm);
  }

  /**
   * Returns whether a token is in its canonical form. The library ignores characters around the
   * token, and characters in the signature that are not Base64.
   */
  public static boolean isWrittenAsItShould(String token, SignedJWT signed) {
    return token.equals(signed.serialize())
        && token.endsWith("." + Base64URL.encode(signed.getSignature().decode()));
  }

  /**
   * Verifies a token. The method waits only if the source of keys waits.
   *
   * @return the claims of the token
   * @throws ParseException if the token is not a JWT
   * @throws BadJOSEException if the token is not valid
   * @throws JOSEException if there are no keys, or the signature cannot be verified
   */
  public JWTClaimsSet verify(String token) throws ParseException, BadJOSEException, JOSEException {
    JWT jwt = parsed(token, JWTParser::parse);
    JWTClaimsSet claims = processor.process(jwt, null);
    requireTextSubject(jwt);
    for (String each : required) {
      if (claims.getClaim(each) == null) { // the library accepts a claim with the value null
        throw new BadJWTException("JWT has no value for the claim " + each);
      }
    }
    return claims;
  }

  /**
   * Rejects a subject that is not a string (RFC 7519 §4.1.2). The library converts a number to a
   * string, and this string could be the name of another client.
   */
  private static void requireTextSubject(JWT jwt) throws BadJWTException {
    if (jwt instanceof SignedJWT signed) {
      Map<String, Object> written = signed.getPayload().toJSONObject();
      Object subject = written == null ? null : written.get("sub");
      if (subject != null && !(subject instanceof String)) {
        throw new BadJWTException("JWT claim sub must be a string");
      }
    }
  }

  /**
   * Parses a signed token without verifying its signature.
   *
   * @throws ParseException if the text is not a signed token
   */
  public static SignedJWT parse(String token) throws ParseException {
    return parsed(token, SignedJWT::parse);
  }

  private interface Parser<T> {
    T parse(String token) throws ParseException;
  }

  /**
   * Parses a token. The library throws unchecked exceptions for some texts, such as a token with
   * the header {@code null}.
   */
  private static <T> T parsed(String token, Parser<T> parser) throws ParseException {
    try {
      return parser.parse(token);
    } catch (RuntimeException fault) {
      ParseException malformed = new ParseException("not a well-formed JWT", 0);
      malformed.initCause(fault);
      throw malformed;
    }
  }
}
