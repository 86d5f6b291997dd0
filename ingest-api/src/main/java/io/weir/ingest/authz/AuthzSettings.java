// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.authz;

import io.weir.topics.settings.Settings;
import io.weir.topics.settings.Settings.InvalidSettingException;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * How calls are taken from a gateway's header fields. Immutable.
 *
 * @param identity what tells whose call it is; null if the routes are off
 * @param idHeader name of the header field with the call's id; null if ids are created
 * @param trustedHops how many proxies in front of the node add to {@code X-Forwarded-For}, 0 to
 *     {@value ForwardedFor#MAX_HOPS}; 0 if the address is not looked for
 * @param routes the templates that name endpoints
 */
public record AuthzSettings(
    @Nullable CallIdentity identity,
    @Nullable String idHeader,
    int trustedHops,
    RouteTemplates routes) {
  /** The routes are off. */
  public static final AuthzSettings OFF = new AuthzSettings(null, null, 0, RouteTemplates.NONE);

  /** Names the header field that holds the name of the client. */
  public static final String CLIENT_HEADER = "WEIR_AUTHZ_CLIENT_HEADER";

  /** Names the header field that holds an API key of the client. */
  public static final String API_KEY_HEADER = "WEIR_AUTHZ_API_KEY_HEADER";

  /** Names the header field that holds the id of the call. */
  public static final String ID_HEADER = "WEIR_AUTHZ_ID_HEADER";

  /** Tells how many proxies are trusted. */
  public static final String TRUSTED_HOPS = "WEIR_AUTHZ_TRUSTED_HOPS";

  /** Names the file of the templates. */
  public static final String ROUTES = "WEIR_AUTHZ_ROUTES";

  private static final Pattern FIELD_NAME = Pattern.compile("[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}");

  /**
   * Reads the settings.
   *
   * @throws InvalidSettingException if a variable is wrong; the message names it
   */
  public static AuthzSettings of(Settings settings) {
    String client = fieldName(settings, CLIENT_HEADER);
    String apiKey = fieldName(settings, API_KEY_HEADER);
    if (client != null && apiKey != null) {
      throw new InvalidSettingException(
          CLIENT_HEADER + " and " + API_KEY_HEADER + " are both set; set one of them");
    }
    CallIdentity identity =
        client != null
            ? new CallIdentity.ClientName(client)
            : apiKey != null ? new CallIdentity.ClientKey(apiKey) : null;
    return new AuthzSettings(
        identity,
        fieldName(settings, ID_HEADER),
        (int) settings.integer(TRUSTED_HOPS, 0, 0, ForwardedFor.MAX_HOPS),
        routes(settings.text(ROUTES, "")));
  }

  private static @Nullable String fieldName(Settings settings, String variable) {
    String name = settings.text(variable, "");
    if (!name.isEmpty() && !FIELD_NAME.matcher(name).matches()) {
      throw new InvalidSettingException(
          variable
              + " must be the name of a header field, of 1 to 64 characters, is '"
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
