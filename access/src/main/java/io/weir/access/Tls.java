// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import io.weir.topics.settings.Settings.InvalidSettingException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.util.List;
import java.util.stream.Stream;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.eclipse.jetty.server.ConnectionFactory;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.SecureRequestCustomizer;
import org.eclipse.jetty.server.SslConnectionFactory;
import org.eclipse.jetty.util.ssl.SslContextFactory;
import org.jspecify.annotations.Nullable;

/**
 * TLS 1.2 and 1.3 for ports, with the certificate from the files in the settings. The files are
 * read again when their content changes. After a change, new connections use the new certificate,
 * and open connections continue. A client cannot renegotiate a connection (RFC 9325 §3.4). All
 * cipher suites have forward secrecy and authenticated encryption (RFC 9325 §4.2). Thread-safe.
 */
public final class Tls implements AutoCloseable {
  /** The supported versions of TLS. */
  public static final List<String> PROTOCOLS = List.of("TLSv1.2", "TLSv1.3");

  private static final String WITHOUT_AUTHENTICATED_ENCRYPTION = "^.*_CBC_.*$";

  static {
    // Netty has no setting for renegotiation; the JDK reads the property at the first handshake of
    // a server
    System.setProperty("jdk.tls.rejectClientInitiatedRenegotiation", "true");
  }

  private static final char[] NO_PASSWORD = "in memory".toCharArray();

  private final TlsSettings settings;
  private final SslContextFactory.Server context = new SslContextFactory.Server();
  private final WatchedFile watched;
  private volatile SSLContext client;
  private volatile SSLContext server;

  /** The rule for client certificates. */
  public enum ClientCertificates {
    /** The server does not request a certificate. */
    NONE,
    /** The server requests a certificate, but a client may connect without one. */
    WANTED,
    /** The server rejects a client without a certificate. */
    NEEDED
  }

  private Tls(TlsSettings settings) throws IOException {
    this.settings = settings;
    context.setIncludeProtocols(PROTOCOLS.toArray(String[]::new));
    context.setSniRequired(false);
    context.setRenegotiationAllowed(false);
    context.addExcludeCipherSuites(WITHOUT_AUTHENTICATED_ENCRYPTION);
    set(context);
    this.client = newContext(settings.authorities());
    this.server = newContext(settings.clientAuthorities());
    this.watched = WatchedFile.start(settings.files(), () -> context.reload(this::reload));
  }

  /**
   * Creates the TLS contexts from the files in the settings.
   *
   * @throws InvalidSettingException if a file is not valid
   */
  public static Tls open(TlsSettings settings) {
    try {
      return new Tls(settings);
    } catch (IOException invalid) {
      throw new InvalidSettingException(
          (settings.keyStore() == null ? "WEIR_TLS_CERTIFICATE: " : "WEIR_TLS_KEYSTORE: ")
              + invalid.getMessage());
    }
  }

  private void reload(SslContextFactory factory) {
    try {
      set((SslContextFactory.Server) factory);
      client = newContext(settings.authorities());
      server = newContext(settings.clientAuthorities());
    } catch (IOException invalid) {
      throw new IllegalArgumentException(invalid.getMessage(), invalid);
    }
  }

  private void set(SslContextFactory.Server factory) throws IOException {
    char[] password =
        settings.keyStore() == null ? NO_PASSWORD : settings.keyStorePassword().toCharArray();
    factory.setKeyStore(keys(password));
    factory.setKeyStorePassword(new String(password));
    Path authorities = settings.clientAuthorities();
    if (authorities != null) {
      factory.setTrustStore(trust(authorities));
      factory.setNeedClientAuth(settings.clientMust());
      factory.setWantClientAuth(!settings.clientMust());
    }
  }

  private KeyStore keys(char[] password) throws IOException {
    Path file = settings.keyStore();
    try {
      KeyStore store = KeyStore.getInstance("PKCS12");
      if (file != null) {
        try (InputStream in = Files.newInputStream(file)) {
          store.load(in, password);
        }
        return store;
      }
      store.load(null, password);
      PrivateKey key = Pem.key(required(settings.key()));
      Certificate[] certificates = Pem.certificates(required(settings.certificate()));
      Pem.requirePair(key, certificates[0]);
      store.setKeyEntry("weir", key, password, certificates);
      return store;
    } catch (GeneralSecurityException invalid) {
      throw new IOException(invalid.getMessage(), invalid);
    }
  }

  private static Path required(@Nullable Path file) {
    if (file == null) {
      throw new IllegalStateException("the TLS settings must have PEM files or a key store");
    }
    return file;
  }

  /** Returns a trust store with the given authorities. */
  static KeyStore trust(Path authorities) throws IOException {
    try {
      KeyStore store = KeyStore.getInstance("PKCS12");
      store.load(null, NO_PASSWORD);
      int count = 0;
      for (Certificate authority : Pem.certificates(authorities)) {
        store.setCertificateEntry("authority-" + count++, authority);
      }
      return store;
    } catch (GeneralSecurityException invalid) {
      throw new IOException(invalid.getMessage(), invalid);
    }
  }

  /**
   * Returns the context for requests to other Weir processes. After a change of the files, the
   * method returns a new context.
   */
  public SSLContext client() {
    return client;
  }

  /**
   * Returns the context for ports that do not use Jetty. After a change of the files, the method
   * returns a new context.
   */
  public SSLContext server() {
    return server;
  }

  /** Returns the cipher suites for ports that do not use Jetty, in order of preference. */
  public List<String> cipherSuites() {
    return Stream.of(server.getDefaultSSLParameters().getCipherSuites())
        .filter(suite -> !suite.matches(WITHOUT_AUTHENTICATED_ENCRYPTION))
        .filter(suite -> !suite.startsWith("TLS_RSA_"))
        .toList();
  }

  /** Returns the rule for client certificates. */
  public ClientCertificates clientCertificates() {
    if (settings.clientAuthorities() == null) {
      return ClientCertificates.NONE;
    }
    return settings.clientMust() ? ClientCertificates.NEEDED : ClientCertificates.WANTED;
  }

  /**
   * Creates a context that presents the current certificate of this process.
   *
   * @param authorities the trusted authorities, in PEM; null for the authorities of the Java
   *     platform
   */
  private SSLContext newContext(@Nullable Path authorities) {
    char[] password =
        settings.keyStore() == null ? NO_PASSWORD : settings.keyStorePassword().toCharArray();
    try {
      KeyManagerFactory keys =
          KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
      keys.init(keys(password), password);
      TrustManagerFactory trust =
          TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      trust.init(authorities == null ? null : trust(authorities));
      SSLContext made = SSLContext.getInstance("TLS");
      made.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
      return made;
    } catch (GeneralSecurityException | IOException invalid) {
      throw new InvalidSettingException("WEIR_TLS_CA: " + invalid.getMessage());
    }
  }

  /**
   * Returns the protocols of a connector: HTTP/1.1, with or without TLS.
   *
   * @param tls TLS for the connector; null for no TLS
   */
  public static ConnectionFactory[] protocols(@Nullable Tls tls, HttpConfiguration http) {
    if (tls == null) {
      return new ConnectionFactory[] {new HttpConnectionFactory(http)};
    }
    HttpConfiguration secure = new HttpConfiguration(http);
    // a load balancer may connect by address although the certificate is for a name
    secure.addCustomizer(new SecureRequestCustomizer(false));
    HttpConnectionFactory http11 = new HttpConnectionFactory(secure);
    return new ConnectionFactory[] {
      new SslConnectionFactory(tls.context, http11.getProtocol()), http11
    };
  }

  @Override
  public void close() {
    watched.close();
  }
}
