// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import io.weir.access.AccessSettings;
import io.weir.limits.Names;
import io.weir.topics.settings.Settings;
import io.weir.topics.settings.Settings.InvalidSettingException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The settings of Envoy's rate limit service. Immutable.
 *
 * @param host the address that the gRPC port binds
 * @param port the gRPC port, 0 for any free port; null for none
 * @param clientKeys keys of the descriptor entries whose value names the client
 */
public record RateLimitSettings(String host, @Nullable Integer port, List<String> clientKeys) {
  /** Settings without a gRPC port and without client keys. */
  public static final RateLimitSettings OFF = new RateLimitSettings("127.0.0.1", null, List.of());

  /** The environment variable with the gRPC port. */
  public static final String PORT = "WEIR_GRPC_PORT";

  /** The environment variable with the address that the gRPC port binds. */
  public static final String HOST = "WEIR_GRPC_HOST";

  /** The environment variable with the keys of the entries that name clients. */
  public static final String CLIENT_KEYS = "WEIR_RLS_CLIENT_KEYS";

  public RateLimitSettings {
    clientKeys = List.copyOf(clientKeys);
  }

  /**
   * Reads the settings.
   *
   * @throws InvalidSettingException if a variable is invalid; the message names the variable
   */
  public static RateLimitSettings of(Settings settings, AccessSettings access) {
    boolean isOn = !settings.text(PORT, "").isEmpty();
    return new RateLimitSettings(
        isOn ? access.host(settings, HOST) : OFF.host,
        isOn ? settings.port(PORT, 0) : null,
        clientKeys(settings.text(CLIENT_KEYS, "")));
  }

  private static List<String> clientKeys(String list) {
    List<String> keys = new ArrayList<>();
    if (list.isEmpty()) {
      return keys;
    }
    for (String each : list.split(",", -1)) {
      String key = each.strip();
      String violation = Names.violation(key);
      if (violation != null) {
        throw new InvalidSettingException(
            CLIENT_KEYS
                + " must be keys of descriptor entries, separated by commas; the key '"
                + key
                + "' "
                + violation);
      }
      keys.add(key);
    }
    return keys;
  }

  /** Returns the settings in one line. */
  @Override
  public String toString() {
    return (port == null ? "off" : host + ":" + port)
        + " client_keys="
        + String.join(",", clientKeys);
  }
}
