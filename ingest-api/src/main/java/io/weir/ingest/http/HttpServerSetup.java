// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.javalin.compression.CompressionStrategy;
import io.javalin.config.JavalinConfig;
import io.weir.access.Tls;
import io.weir.access.port.ConnectionLimit;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Executor;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.VirtualThreads;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.jspecify.annotations.Nullable;

/** Configures the HTTP server: its threads, its connector and its bounds. */
final class HttpServerSetup {
  /**
   * Maximum time during a request in which no byte is read or written. No thread is blocked during
   * this time.
   */
  private static final Duration STALLED = Duration.ofSeconds(15);

  /**
   * Maximum number of connections that wait in the kernel's queue to be accepted. The JDK's default
   * of 50 is too small for a burst.
   */
  private static final int ACCEPT_QUEUE = 1_024;

  /**
   * Size in bytes of the kernel's send buffer of a connection. Any response fits into the buffer,
   * except the response to a large batch. Unread responses occupy this memory.
   */
  private static final int SEND_BUFFER_BYTES = 128 * 1024;

  /** Maximum number of platform threads: the threads of calls, and 50 for other work. */
  private static final int MAX_THREADS = HttpSettings.MAX_CALLS_ON_PLATFORM_THREADS + 50;

  private static final int MIN_THREADS = 8;

  private HttpServerSetup() {}

  /**
   * Configures a server, except for its threads.
   *
   * @param handlers the handlers in front of the servlet, in reverse order
   */
  static void apply(
      JavalinConfig config,
      HttpSettings settings,
      @Nullable Tls tls,
      List<Handler.Wrapper> handlers,
      Admission admission,
      HttpStatistics statistics) {
    config.startup.showJavalinBanner = false;
    config.http.maxRequestSize = RequestBody.MAX_BATCH_BYTES;
    config.http.generateEtags = false;
    config.http.prefer405over404 = true;
    config.http.compressionStrategy = CompressionStrategy.NONE;
    config.jetty.modifyHttpConfiguration(HttpServerSetup::bound);
    config.jetty.modifyServer(
        server -> {
          handlers.forEach(server::insertHandler);
          server.setErrorHandler(new ProblemWriter());
          statistics.watch(server);
        });
    config.jetty.addConnector(
        (server, http) -> {
          ServerConnector connector = connector(server, http, settings, admission, tls);
          ConnectionLimit limit = new ConnectionLimit(settings.maxConnections(), connector);
          connector.addBean(limit);
          statistics.watch(connector, limit::getNetworkConnectionCount);
          return connector;
        });
  }

  /**
   * Sets the server's threads, and returns the executor of the calls. If virtual threads are
   * configured, they also read the connections. With platform threads for reading, the throughput
   * would be a fifth lower.
   */
  static Executor threads(JavalinConfig config, HttpSettings settings) {
    if (settings.virtualThreads()) {
      config.concurrency.useVirtualThreads = true;
      return VirtualThreads.getDefaultVirtualThreadsExecutor();
    }
    QueuedThreadPool pool = new QueuedThreadPool(MAX_THREADS, MIN_THREADS);
    pool.setName("weir-http");
    config.jetty.threadPool = pool;
    return pool;
  }

  private static void bound(HttpConfiguration http) {
    http.setSendServerVersion(false);
    http.setSendDateHeader(true);
    http.setIdleTimeout(STALLED.toMillis());
  }

  private static ServerConnector connector(
      Server server,
      HttpConfiguration http,
      HttpSettings settings,
      Admission admission,
      @Nullable Tls tls) {
    ServerConnector connector =
        new AnsweringConnector(server, Tls.protocols(tls, http), admission::waited);
    connector.setHost(settings.host());
    connector.setPort(settings.port());
    connector.setIdleTimeout(settings.keepAlive().toMillis());
    connector.setAcceptQueueSize(ACCEPT_QUEUE);
    connector.setAcceptedSendBufferSize(SEND_BUFFER_BYTES);
    return connector;
  }
}
