// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import io.grpc.Server;
import io.grpc.netty.NettyServerBuilder;
import io.weir.access.AccessSettings;
import io.weir.access.Tls;
import io.weir.topics.settings.Settings;
import java.io.IOException;
import java.util.Map;
import java.util.Objects;

/**
 * A process whose only TLS port is a gRPC port without services. It is a process of its own, since
 * the JDK reads its TLS properties only once. Writes its port, and ends when its input ends.
 */
final class TlsPortChild {
  private TlsPortChild() {}

  /**
   * Runs it.
   *
   * @param files the certificate and its key
   */
  public static void main(String[] files) throws IOException {
    Settings settings =
        Settings.of(Map.of("WEIR_TLS_CERTIFICATE", files[0], "WEIR_TLS_KEY", files[1]));
    try (Tls tls = Tls.open(Objects.requireNonNull(AccessSettings.of(settings).tls()))) {
      Server server = NettyServerBuilder.forPort(0).sslContext(new ServerTls(tls)).build().start();
      System.out.println(server.getPort());
      while (System.in.read() >= 0) {}
      server.shutdownNow();
    }
  }
}
