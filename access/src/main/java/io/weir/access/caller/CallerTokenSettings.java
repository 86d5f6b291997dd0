// SPDX-License-Identifier: Apache-2.0
package io.weir.access.caller;

import io.weir.access.JwksPlace;
import io.weir.topics.settings.Settings;
import io.weir.topics.settings.Settings.InvalidSettingException;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Settings of callers' tokens: the accepted tokens, and the claims that identify a caller.
 * Immutable.
 *
 * @param keys the location of the issuer's keys
 * @param issuer the issuer of the tokens ({@code iss})
 * @param audience the audience of the tokens ({@code aud})
 * @param client the claim with the client's name
 * @param attributes the claims that become attributes of the call, by the attribute's name
 */
public record CallerTokenSettings(
    JwksPlace keys,
    String issuer,
    String audience,
    ClaimPath client,
    Map<String, ClaimPath> attributes) {
  /** Prefix of all environment variables for tokens of callers. */
  public static final String PREFIX = "WEIR_AUTHZ_JWT_";

  /** The environment variable with the location of the issuer's keys. */
  public static final String JWKS = "WEIR_AUTHZ_JWT_JWKS";

  private static final String ISSUER = "WEIR_AUTHZ_JWT_ISSUER";
  private static final String AUDIENCE = "WEIR_AUTHZ_JWT_AUDIENCE";
  private static final String CLIENT_CLAIM = "WEIR_AUTHZ_JWT_CLIENT_CLAIM";
  private static final String ATTRIBUTES = "WEIR_AUTHZ_JWT_ATTRIBUTES";

  /**
   * Maximum number of claims that become attributes: equal to the maximum number of attributes that
   * a policy matches.
   */
  static final int MAX_ATTRIBUTES = 16;

  public CallerTokenSettings {
    attributes = Map.copyOf(attributes);
  }

  /**
   * Returns the settings; null if no variable is set.
   *
   * @throws InvalidSettingException if a variable is not valid or missing; the message states the
   *     variable
   */
  public static @Nullable CallerTokenSettings of(Settings settings) {
    if (settings.startingWith(PREFIX).isEmpty()) {
      return null;
    }
    JwksPlace keys = new JwksPlace(JWKS, required(settings, JWKS));
    String issuer = required(settings, ISSUER);
    String audience = required(settings, AUDIENCE);
    String client = required(settings, CLIENT_CLAIM);
    keys.requireValid();
    return new CallerTokenSettings(
        keys,
        issuer,
        audience,
        path(CLIENT_CLAIM, client),
        attributes(settings.text(ATTRIBUTES, "")));
  }

  private static String required(Settings settings, String variable) {
    String value = settings.text(variable, "");
    if (value.isEmpty()) {
      throw new InvalidSettingException(
          String.format(
              "%s is not set; %s, %s, %s and %s must be set together",
              variable, JWKS, ISSUER, AUDIENCE, CLIENT_CLAIM));
    }
    return value;
  }

  private static ClaimPath path(String variable, String text) {
    ClaimPath path = ClaimPath.parse(text);
    if (path == null) {
      throw new InvalidSettingException(
          variable + " " + ClaimPath.RULE + ", but is '" + text + "'");
    }
    return path;
  }

  /**
   * Parses the list {@code NAME=CLAIM,CLAIM}. Without {@code NAME=}, the attribute has the name of
   * the claim.
   */
  private static Map<String, ClaimPath> attributes(String list) {
    Map<String, ClaimPath> attributes = new LinkedHashMap<>();
    if (list.isEmpty()) {
      return attributes;
    }
    for (String entry : list.split(",", -1)) {
      String[] parts = entry.strip().split("=", 2);
      String claim = parts[parts.length - 1].strip();
      String name = parts[0].strip();
      if (ClaimPath.parse(name) == null || name.startsWith("/")) {
        throw new InvalidSettingException(
            ATTRIBUTES
                + " must be claims separated by commas, such as plan,tier=/org/tier, with a name"
                + " before each JSON Pointer, but has '"
                + entry.strip()
                + "'");
      }
      if (attributes.putIfAbsent(name, path(ATTRIBUTES, claim)) != null) {
        throw new InvalidSettingException(
            ATTRIBUTES + " must not have the attribute '" + name + "' twice");
      }
    }
    if (attributes.size() > MAX_ATTRIBUTES) {
      throw new InvalidSettingException(
          ATTRIBUTES
              + " must have at most "
              + MAX_ATTRIBUTES
              + " claims, but has "
              + attributes.size());
    }
    return attributes;
  }
}
