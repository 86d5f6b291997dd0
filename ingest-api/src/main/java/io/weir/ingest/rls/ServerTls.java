// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.ApplicationProtocolNegotiator;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.IdentityCipherSuiteFilter;
import io.netty.handler.ssl.JdkSslContext;
import io.netty.handler.ssl.SslContext;
import io.weir.access.Tls;
import java.util.List;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLSessionContext;

/**
 * The TLS context of the gRPC port. This class adds HTTP/2 to the TLS settings of the other ports.
 * A new connection uses the current content of the certificate files. Thread-safe.
 */
final class ServerTls extends SslContext {
  private static final ApplicationProtocolConfig HTTP_2 =
      new ApplicationProtocolConfig(
          ApplicationProtocolConfig.Protocol.ALPN,
          ApplicationProtocolConfig.SelectorFailureBehavior.NO_ADVERTISE,
          ApplicationProtocolConfig.SelectedListenerFailureBehavior.ACCEPT,
          ApplicationProtocolNames.HTTP_2);

  private final Tls tls;
  private volatile Current current;

  /** The JDK's context and Netty's context for new connections. */
  private record Current(SSLContext of, JdkSslContext context) {}

  ServerTls(Tls tls) {
    this.tls = tls;
    this.current = make(tls.server());
  }

  private Current make(SSLContext of) {
    ClientAuth clients =
        switch (tls.clientCertificates()) {
          case NONE -> ClientAuth.NONE;
          case WANTED -> ClientAuth.OPTIONAL;
          case NEEDED -> ClientAuth.REQUIRE;
        };
    return new Current(
        of,
        new JdkSslContext(
            of,
            false,
            tls.cipherSuites(),
            IdentityCipherSuiteFilter.INSTANCE,
            HTTP_2,
            clients,
            Tls.PROTOCOLS.toArray(String[]::new),
            false));
  }

  private JdkSslContext current() {
    SSLContext now = tls.server();
    Current made = current;
    if (made.of != now) {
      made = make(now);
      current = made;
    }
    return made.context;
  }

  @Override
  public boolean isClient() {
    return false;
  }

  @Override
  public List<String> cipherSuites() {
    return current().cipherSuites();
  }

  @Override
  @SuppressWarnings("deprecation") // Netty's method can return only this type
  public ApplicationProtocolNegotiator applicationProtocolNegotiator() {
    return current().applicationProtocolNegotiator();
  }

  @Override
  public SSLEngine newEngine(ByteBufAllocator allocator) {
    return current().newEngine(allocator);
  }

  @Override
  public SSLEngine newEngine(ByteBufAllocator allocator, String peerHost, int peerPort) {
    return current().newEngine(allocator, peerHost, peerPort);
  }

  @Override
  public SSLSessionContext sessionContext() {
    return current().sessionContext();
  }
}
