// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitServiceGrpc;
import io.grpc.Server;
import io.grpc.ServerInterceptors;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.services.HealthStatusManager;
import io.grpc.protobuf.services.ProtoReflectionServiceV1;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.weir.access.Access;
import io.weir.access.Tls;
import io.weir.ingest.trace.Traces;
import io.weir.topics.process.ResourceStack;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The gRPC server, with Envoy's rate limit service, the health service and reflection. The health
 * of the server and of the rate limit service is {@code SERVING} while the node is ready to record
 * calls.
 */
public final class RateLimitServer implements AutoCloseable {
  /**
   * Maximum size of a request in bytes. By default Envoy accepts 60 KiB of header fields from its
   * callers, and may copy them to several descriptors. The server must accept a request with such
   * descriptors.
   */
  private static final int MAX_REQUEST_BYTES = 1024 * 1024;

  /** Maximum size of a request's metadata in bytes. Tokens of an issuer may have some kilobytes. */
  private static final int MAX_METADATA_BYTES = 16 * 1024;

  /**
   * Maximum number of concurrent requests of one connection. Envoy has one connection for each of
   * its threads, and opens another connection when a connection is at this maximum.
   */
  private static final int MAX_CALLS_PER_CONNECTION = 128;

  /** Maximum number of received bytes of a connection that are not yet processed. */
  private static final int UNREAD_BYTES_PER_CONNECTION = 128 * 1024;

  /**
   * Time within which a request must arrive completely. The same limit applies to the body of a
   * check.
   */
  private static final Duration WHOLE_LIMIT = Duration.ofSeconds(10);

  /**
   * Maximum number of bytes of all incomplete requests. The same maximum applies to the bodies of
   * checks.
   */
  private static final long MAX_UNFINISHED_BYTES = 64L * 1024 * 1024;

  /** Lower bound for the result of {@link #shareOf}. */
  private static final int MIN_CONNECTIONS = 100;

  /** Idle time after which the server pings the peer. */
  private static final Duration KEEP_ALIVE = Duration.ofMinutes(1);

  /** Time without a reply to a ping after which the server closes the connection. */
  private static final Duration KEEP_ALIVE_TIMEOUT = Duration.ofSeconds(20);

  /** Minimum interval of a client's pings. The server disconnects clients that ping more often. */
  private static final Duration MIN_PEER_KEEP_ALIVE = Duration.ofSeconds(10);

  /**
   * Time without a request after which the server closes a connection. The client can open another
   * connection.
   */
  private static final Duration IDLE_LIMIT = Duration.ofMinutes(5);

  /**
   * A new connection may replace an open connection only if the open connection has sent nothing
   * for at least this time. Applies when the maximum number of connections is reached.
   */
  private static final Duration IDLE_LIMIT_OF_FULL_PORT = Duration.ofSeconds(30);

  /**
   * Maximum number of reset requests of a connection within {@link #RESETS_WINDOW}. Above this
   * maximum, the server closes the connection (rapid reset, CVE-2023-44487). Envoy resets each
   * request that reaches its deadline.
   */
  private static final int MAX_RESETS = 5_000;

  private static final Duration RESETS_WINDOW = Duration.ofSeconds(10);

  private static final Duration HANDSHAKE_LIMIT = Duration.ofSeconds(10);

  /** Number of threads that process requests. No request blocks a thread. */
  private static final int THREADS = 8;

  /** Number of threads that may wait for the keys of a token issuer. */
  private static final int VERIFYING_THREADS = 4;

  /**
   * Maximum time that a stop waits for calls in progress, equal to the maximum time that a call
   * waits for Kafka.
   */
  private static final Duration FINISH_LIMIT = Duration.ofSeconds(5);

  private final Server server;
  private final HealthUpdates health;
  private final RateLimitService service;
  private final ResourceStack resources;

  private RateLimitServer(
      Server server, HealthUpdates health, RateLimitService service, ResourceStack resources) {
    this.server = server;
    this.health = health;
    this.service = service;
    this.resources = resources;
  }

  /**
   * The components of the server.
   *
   * @param limits decides the requests
   * @param access the access rules
   * @param tls the TLS configuration of the port; null for no TLS
   * @param isReady returns whether the node is ready to record calls
   * @param maxUnderWay maximum number of requests in progress
   * @param maxConnections maximum number of open connections
   * @param traces selects the requests to trace
   */
  public record Parts(
      RateLimits limits,
      Access access,
      @Nullable Tls tls,
      BooleanSupplier isReady,
      int maxUnderWay,
      int maxConnections,
      Traces traces,
      MeterRegistry registry) {}

  /**
   * Starts the server.
   *
   * @param host the address to bind
   * @param port the port; 0 for any free port
   * @throws UncheckedIOException if the port cannot be bound
   */
  public static RateLimitServer start(String host, int port, Parts parts) {
    ResourceStack resources = new ResourceStack();
    UnfinishedRequests unfinished =
        resources.push(UnfinishedRequests.start(WHOLE_LIMIT, MAX_UNFINISHED_BYTES));
    EventLoopGroup accepting = loops(resources, 1, "weir-grpc-accept");
    EventLoopGroup reading = loops(resources, 0, "weir-grpc-io");
    ThreadPoolExecutor threads = threads(resources, THREADS, RateLimitServer::thread);
    ThreadPoolExecutor verifying =
        threads(resources, VERIFYING_THREADS, TokenCheck.VerifyingThread::new);
    TokenCheck tokens = new TokenCheck(parts.access(), verifying);
    RateLimitService service =
        new RateLimitService(
            parts.limits(),
            parts.traces(),
            parts.registry(),
            parts.maxUnderWay(),
            () -> threads.getQueue().size());
    HealthStatusManager status = new HealthStatusManager();
    NettyServerBuilder builder =
        NettyServerBuilder.forAddress(new InetSocketAddress(host, port))
            .channelFactory(
                () -> new BoundedServerChannel(parts.maxConnections(), IDLE_LIMIT_OF_FULL_PORT))
            .bossEventLoopGroup(accepting)
            .workerEventLoopGroup(reading)
            .executor(threads)
            .callExecutor(tokens)
            .maxInboundMessageSize(MAX_REQUEST_BYTES)
            .maxInboundMetadataSize(MAX_METADATA_BYTES)
            .maxConcurrentCallsPerConnection(MAX_CALLS_PER_CONNECTION)
            .maxRstFramesPerWindow(MAX_RESETS, (int) RESETS_WINDOW.toSeconds())
            .flowControlWindow(UNREAD_BYTES_PER_CONNECTION)
            .addStreamTracerFactory(unfinished)
            .intercept(unfinished)
            .keepAliveTime(KEEP_ALIVE.toSeconds(), TimeUnit.SECONDS)
            .keepAliveTimeout(KEEP_ALIVE_TIMEOUT.toSeconds(), TimeUnit.SECONDS)
            .permitKeepAliveTime(MIN_PEER_KEEP_ALIVE.toSeconds(), TimeUnit.SECONDS)
            .permitKeepAliveWithoutCalls(true)
            .maxConnectionIdle(IDLE_LIMIT.toSeconds(), TimeUnit.SECONDS)
            .handshakeTimeout(HANDSHAKE_LIMIT.toSeconds(), TimeUnit.SECONDS)
            .addService(behind(tokens, RequestTraces.of(parts.traces(), service.definition())))
            .addService(behind(tokens, ProtoReflectionServiceV1.newInstance().bindService()))
            .addService(MalformedMessages.refusedBy(status.getHealthService().bindService()));
    if (parts.tls() != null) {
      builder.sslContext(new ServerTls(parts.tls()));
    }
    try {
      Server server = builder.build().start();
      HealthUpdates health =
          HealthUpdates.start(status, RateLimitServiceGrpc.SERVICE_NAME, parts.isReady());
      return new RateLimitServer(server, health, service, resources);
    } catch (IOException notBound) {
      resources.close();
      throw new UncheckedIOException(notBound);
    }
  }

  /**
   * Returns the maximum number of gRPC connections, derived from the maximum of the check API. The
   * gRPC maximum is a tenth of the check API's maximum, but at least {@value #MIN_CONNECTIONS}.
   * Fewer connections are enough, because a connection carries many concurrent requests, and a
   * proxy opens one connection per thread.
   */
  public static int shareOf(int maxConnections) {
    return Math.max(MIN_CONNECTIONS, maxConnections / 10);
  }

  /**
   * Returns the threads that read and write connections. If {@code count} is 0, Netty chooses the
   * number of threads.
   */
  private static EventLoopGroup loops(ResourceStack resources, int count, String name) {
    EventLoopGroup loops =
        new MultiThreadIoEventLoopGroup(
            count, new DefaultThreadFactory(name, true), NioIoHandler.newFactory());
    resources.push(
        () -> {
          var unused = loops.shutdownGracefully(0, FINISH_LIMIT.toSeconds(), TimeUnit.SECONDS);
        });
    return loops;
  }

  /**
   * Returns a pool of threads for calls. Each call occupies at most one place in the pool's queue.
   * So the queue has at most the maximum number of connections times the maximum number of calls
   * per connection. Long before the queue reaches this bound, the service rejects further calls as
   * overload.
   */
  private static ThreadPoolExecutor threads(
      ResourceStack resources, int count, ThreadFactory factory) {
    ThreadPoolExecutor threads =
        new ThreadPoolExecutor(
            count, count, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), factory);
    resources.push(threads::shutdown);
    return threads;
  }

  private static Thread thread(Runnable task) {
    Thread thread = new Thread(task, "weir-grpc");
    thread.setDaemon(true);
    return thread;
  }

  private static ServerServiceDefinition behind(
      TokenCheck tokens, ServerServiceDefinition service) {
    return ServerInterceptors.intercept(service, tokens);
  }

  /** Returns the port on which the server listens. */
  public int port() {
    return server.getPort();
  }

  /** Begins to count requests. Earlier requests are the node's own warm-up. */
  public void beginCounting() {
    service.beginCounting();
  }

  /**
   * Reports "not serving" as health from now on, so that traffic moves to other nodes. The server
   * still answers calls.
   */
  public void beginStop() {
    health.close();
  }

  /** Stops accepting calls, and notifies clients, which then use other connections. */
  public void refuseNewCalls() {
    server.shutdown();
  }

  /** Waits at most a few seconds for the calls in progress, and then stops the server. */
  @Override
  public void close() {
    beginStop();
    refuseNewCalls();
    boolean isInterrupted = false;
    try {
      if (!server.awaitTermination(FINISH_LIMIT.toSeconds(), TimeUnit.SECONDS)) {
        server.shutdownNow();
      }
    } catch (InterruptedException interrupted) {
      server.shutdownNow();
      isInterrupted = true;
    }
    resources.close();
    if (isInterrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
