// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import io.weir.topics.settings.Settings;
import io.weir.topics.settings.Settings.InvalidSettingException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Settings of tokens and TLS for the ports of a process. Immutable.
 *
 * @param tokensFile the file with the hashes of tokens ({@code WEIR_TOKENS_FILE}); null if this
 *     variable is not set
 * @param keys the location of an issuer's keys, a file or an https URL ({@code WEIR_JWKS}); empty
 *     if this variable is not set
 * @param issuer the issuer of tokens ({@code WEIR_JWT_ISSUER}); empty if this variable is not set
 * @param audience the required audience of the issuer's tokens ({@code WEIR_JWT_AUDIENCE})
 * @param portalKeyFile the file with the secret that signs tokens for clients' pages ({@code
 *     WEIR_PORTAL_KEY_FILE}); null if this variable is not set
 * @param unprotected whether a port that other machines can reach may serve requests without
 *     tokens, because a proxy authorizes the requests ({@code WEIR_UNPROTECTED})
 * @param tls the TLS settings; null if TLS is off
 */
public record AccessSettings(
    @Nullable Path tokensFile,
    String keys,
    String issuer,
    String audience,
    @Nullable Path portalKeyFile,
    boolean unprotected,
    @Nullable TlsSettings tls) {
  /** Settings without tokens and without TLS. */
  public static final AccessSettings NONE = new AccessSettings(null, "", "", "", null, false, null);

  private static final String TOKENS = "WEIR_TOKENS_FILE";
  private static final String KEYS = "WEIR_JWKS";
  private static final String PORTAL = "WEIR_PORTAL_KEY_FILE";
  private static final String UNPROTECTED = "WEIR_UNPROTECTED";

  private enum Unprotected {
    REFUSE,
    ALLOW
  }

  /**
   * Reads the settings of a process.
   *
   * @throws InvalidSettingException if a variable is not valid; the message states the variable
   */
  public static AccessSettings of(Settings settings) {
    String keys = settings.text(KEYS, "");
    String issuer = settings.text("WEIR_JWT_ISSUER", "");
    String audience = settings.text("WEIR_JWT_AUDIENCE", "");
    requireTogether(keys, issuer, audience);
    AccessSettings read =
        new AccessSettings(
            file(settings, TOKENS),
            keys,
            issuer,
            audience,
            file(settings, PORTAL),
            settings.choice(UNPROTECTED, Unprotected.REFUSE) == Unprotected.ALLOW,
            TlsSettings.of(settings));
    read.requireValidKeys();
    if (read.portalKeyFile != null && !read.hasTokens()) {
      throw new InvalidSettingException(
          PORTAL
              + " is set, so "
              + TOKENS
              + " or "
              + KEYS
              + " must also be set, for tokens with the scope admin");
    }
    return read;
  }

  /** Returns whether {@link #of} reads an environment variable. */
  public static boolean isVariable(String name) {
    return name.startsWith("WEIR_TLS_")
        || name.startsWith("WEIR_JWT_")
        || Set.of(TOKENS, KEYS, PORTAL, UNPROTECTED).contains(name);
  }

  private static void requireTogether(String keys, String issuer, String audience) {
    boolean isAny = !(keys + issuer + audience).isEmpty();
    for (String[] each :
        new String[][] {
          {KEYS, keys}, {"WEIR_JWT_ISSUER", issuer}, {"WEIR_JWT_AUDIENCE", audience}
        }) {
      if (isAny && each[1].isEmpty()) {
        throw new InvalidSettingException(
            each[0]
                + " is not set; "
                + KEYS
                + ", WEIR_JWT_ISSUER and WEIR_JWT_AUDIENCE"
                + " must be set together");
      }
    }
  }

  private void requireValidKeys() {
    if (!keys.isEmpty()) {
      place().requireValid();
    }
  }

  private JwksPlace place() {
    return new JwksPlace(KEYS, keys);
  }

  static @Nullable Path file(Settings settings, String variable) {
    String name = settings.text(variable, "");
    if (name.isEmpty()) {
      return null;
    }
    Path file = Path.of(name);
    if (!Files.isReadable(file)) {
      throw new InvalidSettingException(variable + " names a file that cannot be read: " + file);
    }
    return file;
  }

  /** Returns whether tokens are configured. */
  public boolean hasTokens() {
    return tokensFile != null || !keys.isEmpty();
  }

  /**
   * Opens the verifier of an issuer's tokens; null if no issuer is configured.
   *
   * @param onRemoved action that runs after a key was removed or replaced
   */
  @Nullable JwtTokens openIssuer(Runnable onRemoved) throws IOException {
    if (keys.isEmpty()) {
      return null;
    }
    return JwtTokens.open(place(), issuer, audience, onRemoved);
  }

  /**
   * Returns the exception for an invalid file. The message of the exception states the variables
   * that can contain the path of the file.
   */
  InvalidSettingException refused(IOException invalid) {
    return new InvalidSettingException(
        TOKENS + ", " + KEYS + " or " + PORTAL + ": " + invalid.getMessage());
  }

  /**
   * Returns the address to which a port binds. The default is all addresses if tokens are
   * configured, otherwise the loopback address.
   *
   * @param variable environment variable with the address
   * @throws InvalidSettingException if other machines can reach the address, and no tokens are
   *     configured
   */
  public String host(Settings settings, String variable) {
    boolean isProtected = hasTokens() || unprotected;
    String host = settings.text(variable, isProtected ? "0.0.0.0" : "127.0.0.1");
    if (!isProtected && !isLoopback(host)) {
      throw new InvalidSettingException(
          variable
              + " is "
              + host
              + ", which other machines can reach, but no tokens are configured. Set "
              + TOKENS
              + " or "
              + KEYS
              + ", or "
              + variable
              + "=127.0.0.1. If a proxy in front of this process authorizes requests, you can set "
              + UNPROTECTED
              + "=allow instead");
    }
    return host;
  }

  static boolean isLoopback(String host) {
    try {
      return InetAddress.getByName(host).isLoopbackAddress();
    } catch (UnknownHostException unknown) {
      return false;
    }
  }
}
