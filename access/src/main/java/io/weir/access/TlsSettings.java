// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import io.weir.topics.settings.Settings;
import io.weir.topics.settings.Settings.InvalidSettingException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The files for TLS on ports. Immutable.
 *
 * @param certificate the certificate, followed by the certificates of its issuers, in PEM; null
 *     with a key store
 * @param key the certificate's key, in PEM (PKCS #8, without a password); null with a key store
 * @param keyStore the PKCS #12 store with the certificate and the key; null with PEM files
 * @param keyStorePassword the password of the key store
 * @param authorities the authorities that this process trusts as a client, in PEM; null for the
 *     authorities of the Java platform
 * @param clientAuthorities the authorities of client certificates, in PEM; null if the server does
 *     not request client certificates
 * @param clientMust whether the server rejects a client without a certificate
 */
public record TlsSettings(
    @Nullable Path certificate,
    @Nullable Path key,
    @Nullable Path keyStore,
    String keyStorePassword,
    @Nullable Path authorities,
    @Nullable Path clientAuthorities,
    boolean clientMust) {
  private static final String CERTIFICATE = "WEIR_TLS_CERTIFICATE";
  private static final String KEY = "WEIR_TLS_KEY";
  private static final String STORE = "WEIR_TLS_KEYSTORE";
  private static final String CLIENT_CA = "WEIR_TLS_CLIENT_CA";

  private enum ClientAuth {
    NEED,
    WANT
  }

  static @Nullable TlsSettings of(Settings settings) {
    Path certificate = AccessSettings.file(settings, CERTIFICATE);
    Path key = AccessSettings.file(settings, KEY);
    Path store = AccessSettings.file(settings, STORE);
    Path clientCa = AccessSettings.file(settings, CLIENT_CA);
    if ((certificate == null) != (key == null)) {
      throw new InvalidSettingException(
          (certificate == null ? CERTIFICATE : KEY)
              + " is not set; a certificate and its key must be set together");
    }
    if (store != null && certificate != null) {
      throw new InvalidSettingException(
          STORE + " and " + CERTIFICATE + " are set; set only one of them");
    }
    boolean must = settings.choice("WEIR_TLS_CLIENT_AUTH", ClientAuth.NEED) == ClientAuth.NEED;
    if (store == null && certificate == null) {
      if (clientCa != null) {
        throw new InvalidSettingException(
            CLIENT_CA + " is set, but " + CERTIFICATE + " and " + STORE + " are not set");
      }
      return null;
    }
    return new TlsSettings(
        certificate,
        key,
        store,
        settings.text("WEIR_TLS_KEYSTORE_PASSWORD", ""),
        AccessSettings.file(settings, "WEIR_TLS_CA"),
        clientCa,
        must);
  }

  /** Returns all files to watch for changes. */
  List<Path> files() {
    List<Path> files = new ArrayList<>();
    for (Path file :
        new @Nullable Path[] {certificate, key, keyStore, authorities, clientAuthorities}) {
      if (file != null) {
        files.add(file);
      }
    }
    return files;
  }

  /** Returns the files; the text does not contain the password. */
  @Override
  public String toString() {
    return files().toString();
  }
}
