// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.javalin.compression.CompressionStrategy;
import io.javalin.config.JavalinConfig;
import java.time.Duration;
import java.util.concurrent.Executor;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.VirtualThreads;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.jspecify.annotations.Nullable;

/** How the server under the routes is set up: its connector, its bounds, its front door. */
final class HttpServerSetup {
  /** How long an idle connection is kept once there are as many connections as there may be. */
  private static final Duration IDLE_KEPT_AT_THE_LIMIT = Duration.ofSeconds(2);

  /**
   * How long a request may be without a byte moving where one is waited for: a caller that does not
   * read its answer holds a thread so long.
   */
  private static final Duration STALLED = Duration.ofSeconds(15);

  /** Connections the kernel keeps until they are accepted; the JDK's 50 is lost in a burst. */
  private static final int ACCEPT_QUEUE = 1_024;

  /** Those that calls may take without virtual threads, and some for all else. */
  private static final int MAX_THREADS = HttpSettings.MAX_CALLS_ON_PLATFORM_THREADS + 50;

  private static final int MIN_THREADS = 8;

  private HttpServerSetup() {}

  /**
   * Sets a server up.
   *
   * @param callThreads give calls their threads; null for those of the server
   */
  static void apply(
      JavalinConfig config,
      HttpSettings settings,
      @Nullable Executor callThreads,
      Admission admission,
      IncompleteBodies bodies,
      HttpStatistics statistics) {
    config.startup.showJavalinBanner = false;
    Executor serverThreads = threads(config, settings);
    Executor threads = callThreads == null ? serverThreads : callThreads;
    config.http.maxRequestSize = RequestBody.MAX_BYTES;
    config.http.generateEtags = false;
    config.http.prefer405over404 = true;
    config.http.compressionStrategy = CompressionStrategy.NONE;
    config.jetty.modifyHttpConfiguration(HttpServerSetup::bound);
    config.jetty.modifyServer(
        server -> {
          server.insertHandler(new FrontDoor(threads, admission, bodies, statistics));
          server.setErrorHandler(new ProblemWriter());
        });
    config.jetty.addConnector(
        (server, http) -> {
          ServerConnector connector = connector(server, http, settings);
          ConnectionLimit limit =
              new ConnectionLimit(settings.maxConnections(), IDLE_KEPT_AT_THE_LIMIT, connector);
          connector.addBean(limit);
          statistics.watchConnections(limit::getNetworkConnectionCount);
          return connector;
        });
    statistics.watch(admission, bodies);
  }

  /**
   * Gives the server its threads, and calls theirs. Where there are virtual ones, they read the
   * connections, too: platform threads for that cost a fifth of the calls served.
   */
  private static Executor threads(JavalinConfig config, HttpSettings settings) {
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
      Server server, HttpConfiguration http, HttpSettings settings) {
    ServerConnector connector = new ServerConnector(server, new HttpConnectionFactory(http));
    connector.setHost(settings.host());
    connector.setPort(settings.port());
    connector.setIdleTimeout(settings.keepAlive().toMillis());
    connector.setAcceptQueueSize(ACCEPT_QUEUE);
    return connector;
  }
}
