// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.authz;

import io.weir.access.AccessSettings;
import io.weir.access.caller.CallerTokenSettings;
import io.weir.topics.settings.Settings;
import io.weir.topics.settings.Settings.InvalidSettingException;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The settings for reading calls from a gateway's header fields. Immutable.
 *
 * @param identity how Weir identifies clients; null if forward authorization is off
 * @param idHeader name of the header field with the call's id; null if Weir creates the ids
 * @param trustedHops number of trusted proxies in front of the node, 0 to {@value
 *     ForwardedFor#MAX_HOPS}. Each proxy adds an entry to {@code X-Forwarded-For}. If the number is
 *     0, Weir does not read the caller's address
 * @param routes the route templates that name endpoints
 */
public record AuthzSettings(
    @Nullable CallIdentity identity,
    @Nullable String idHeader,
    int trustedHops,
    RouteTemplates routes) {
  /** The settings with forward authorization off. */
  public static final AuthzSettings OFF = new AuthzSettings(null, null, 0, RouteTemplates.NONE);

  /** The variable with the name of the header field that contains the client's name. */
  public static final String CLIENT_HEADER = "WEIR_AUTHZ_CLIENT_HEADER";

  /** The variable with the name of the header field that contains an API key of the client. */
  public static final String API_KEY_HEADER = "WEIR_AUTHZ_API_KEY_HEADER";

  /** The variable with the name of the header field that contains the call's id. */
  public static final String ID_HEADER = "WEIR_AUTHZ_ID_HEADER";

  /** The variable with the number of trusted proxies. */
  public static final String TRUSTED_HOPS = "WEIR_AUTHZ_TRUSTED_HOPS";

  /** The variable with the path of the file of route templates. */
  public static final String ROUTES = "WEIR_AUTHZ_ROUTES";

  /** The variable with the name of the header field that contains a token of the caller. */
  public static final String JWT_HEADER = "WEIR_AUTHZ_JWT_HEADER";

  /** The variable that sets the treatment of calls without a token. */
  public static final String JWT_MISSING = "WEIR_AUTHZ_JWT_MISSING";

  private static final String AUTHORIZATION = "Authorization";

  private static final Pattern FIELD_NAME = Pattern.compile("[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}");

  private enum MissingToken {
    /** Weir refuses calls without a token. */
    REFUSE,
    /** If a call has no token, the other configured header field identifies the client. */
    NEXT
  }

  /**
   * Reads the settings.
   *
   * @param access the access settings of the port; their tokens use the header field {@code
   *     Authorization}
   * @throws InvalidSettingException if a variable is invalid; the message names the variable
   */
  public static AuthzSettings of(Settings settings, AccessSettings access) {
    String client = fieldName(settings, CLIENT_HEADER);
    String apiKey = fieldName(settings, API_KEY_HEADER);
    if (client != null && apiKey != null) {
      throw new InvalidSettingException(
          CLIENT_HEADER + " and " + API_KEY_HEADER + " are both set; set only one of them");
    }
    CallIdentity ofField =
        client != null
            ? new CallIdentity.ClientName(client)
            : apiKey != null ? new CallIdentity.ClientKey(apiKey) : null;
    CallerTokenSettings tokens = CallerTokenSettings.of(settings);
    CallIdentity identity = tokens == null ? ofField : ofToken(settings, access, tokens, ofField);
    return new AuthzSettings(
        identity,
        fieldName(settings, ID_HEADER),
        (int) settings.integer(TRUSTED_HOPS, 0, 0, ForwardedFor.MAX_HOPS),
        routes(settings.text(ROUTES, "")));
  }

  private static CallIdentity ofToken(
      Settings settings,
      AccessSettings access,
      CallerTokenSettings tokens,
      @Nullable CallIdentity ofField) {
    boolean mayBeMissing = settings.choice(JWT_MISSING, MissingToken.REFUSE) == MissingToken.NEXT;
    if (mayBeMissing && ofField == null) {
      throw new InvalidSettingException(
          JWT_MISSING
              + " has the value next, but neither "
              + CLIENT_HEADER
              + " nor "
              + API_KEY_HEADER
              + " is set; set one of them");
    }
    if (!mayBeMissing && ofField != null) {
      throw new InvalidSettingException(
          CallerTokenSettings.JWKS
              + " and "
              + (ofField instanceof CallIdentity.ClientName ? CLIENT_HEADER : API_KEY_HEADER)
              + " are both set; set only one of them, or set "
              + JWT_MISSING
              + "=next to use the second setting for calls without a token");
    }
    String named = fieldName(settings, JWT_HEADER);
    String header = named == null ? AUTHORIZATION : named;
    boolean isAuthorization = header.equalsIgnoreCase(AUTHORIZATION);
    if (isAuthorization && access.hasTokens()) {
      throw new InvalidSettingException(
          "Authorization contains the gateway's own token, so callers' tokens need another "
              + "field; set "
              + JWT_HEADER);
    }
    if (ofField != null
        && ofField.header().equalsIgnoreCase(header)
        && !(isAuthorization && ofField instanceof CallIdentity.ClientKey)) {
      throw new InvalidSettingException(
          JWT_HEADER
              + " must name a header field that no other setting uses, but is "
              + "'"
              + header
              + "'");
    }
    return new CallIdentity.ClientToken(header, tokens, ofField);
  }

  private static @Nullable String fieldName(Settings settings, String variable) {
    String name = settings.text(variable, "");
    if (!name.isEmpty() && !FIELD_NAME.matcher(name).matches()) {
      throw new InvalidSettingException(
          variable
              + " must be the name of a header field, of 1 to 64 characters, but is '"
              + name
              + "'");
    }
    return name.isEmpty() ? null : name;
  }

  private static RouteTemplates routes(String file) {
    if (file.isEmpty()) {
      return RouteTemplates.NONE;
    }
    try {
      return RouteTemplates.parse(Files.readString(Path.of(file)));
    } catch (CharacterCodingException notText) {
      throw new InvalidSettingException(ROUTES + " names a file that is not UTF-8: " + file);
    } catch (IOException unreadable) {
      throw new InvalidSettingException(ROUTES + " names a file that cannot be read: " + file);
    } catch (RouteTemplates.InvalidTemplateException refused) {
      throw new InvalidSettingException(ROUTES + " " + file + ", " + refused.getMessage());
    }
  }

  /** Returns the settings in one line. */
  @Override
  public String toString() {
    return identity == null
        ? "off"
        : identity
            + " id_header="
            + idHeader
            + " trusted_hops="
            + trustedHops
            + " routes="
            + routes;
  }
}
