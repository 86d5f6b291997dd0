// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.javalin.Javalin;
import io.javalin.config.JavalinConfig;
import io.javalin.http.Context;
import io.javalin.http.MethodNotAllowedResponse;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.binder.jetty.JettyConnectionMetrics;
import io.micrometer.core.instrument.binder.jetty.JettyServerThreadPoolMetrics;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.weir.access.Access;
import io.weir.access.AccessHandler;
import io.weir.access.AllowedMethods;
import io.weir.access.Tls;
import io.weir.access.openapi.ApiDescription;
import io.weir.access.openapi.ApiPages;
import io.weir.access.port.ConnectionLimit;
import io.weir.access.port.SlowHeads;
import io.weir.aggregator.audit.bucket.BucketAudit;
import io.weir.aggregator.ranking.RankingSelection;
import io.weir.aggregator.ranking.Rankings;
import io.weir.aggregator.table.TableException;
import io.weir.aggregator.table.TableFollower;
import io.weir.aggregator.table.TableStore;
import io.weir.aggregator.topology.MeterTopology;
import io.weir.aggregator.topology.Rebalances;
import io.weir.aggregator.topology.StoppedPartitions;
import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemPages;
import io.weir.topics.problem.ProblemReason;
import io.weir.topics.problem.Routes;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.ServerSocketChannel;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.streams.KafkaStreams;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The HTTP server of the reports API. It defines the routes, parameters, headers and status codes.
 * Thread-safe.
 */
public final class ReportServer implements AutoCloseable {
  static final String POSITION_HEADER = "Usage-Position";
  static final String NEXT_PAGE_HEADER = "Usage-Next-Page";

  private static final Logger LOG = LoggerFactory.getLogger(ReportServer.class);
  private static final int VIRTUAL_THREADS_SINCE = 21;

  private static final int MAX_WAITING_CONNECTIONS = 256;

  private static final int DEFAULT_CLIENTS = 100;

  /** Maximum time that {@link #close} waits for requests in progress. */
  private static final Duration STOP_TIMEOUT = Duration.ofSeconds(5);

  /** Maximum time without a byte read from or written to a connection. */
  private static final Duration STALLED = Duration.ofSeconds(15);

  private static final Problem TOO_SLOW =
      Problem.of(
          ProblemReason.REQUEST_TOO_SLOW,
          "the request did not arrive completely within "
              + SlowHeads.READ_LIMIT.toSeconds()
              + " s");

  private final ServerSocketChannel channel;
  private final int maxConnections;
  private final ProblemPages pages = ProblemPages.load();
  private final Javalin javalin;
  private final SlowHeads slowHeads;
  private final Clock clock;
  private final PrometheusMeterRegistry registry;
  private final Access access;
  private final @Nullable Tls tls;
  private volatile @Nullable Parts parts;
  private volatile boolean draining;

  private record Parts(
      ClientRoutes clients,
      ClientReports names,
      CompletenessReports completeness,
      AccuracyReports accuracy,
      Optional<RankingReports> rankings,
      ReportSettings settings,
      ReportMetrics metrics,
      Readiness readiness,
      TableStore store) {}

  private ReportServer(
      ServerSocketChannel channel,
      int maxConnections,
      Clock clock,
      PrometheusMeterRegistry registry,
      Access access,
      @Nullable Tls tls) {
    this.channel = channel;
    this.maxConnections = maxConnections;
    this.access = access;
    this.tls = tls;
    this.clock = clock;
    this.registry = registry;
    this.javalin = Javalin.create(this::configure);
    Counter timedOut =
        Counter.builder("weir.requests.timed.out")
            .description("requests that did not arrive completely within 10 s")
            .tag("part", "headers")
            .register(registry);
    this.slowHeads =
        new SlowHeads(
            javalin.jettyServer().server(),
            SlowHeads.Bodies.NONE,
            () -> RefusedRequests.message(TOO_SLOW),
            timedOut::increment);
  }

  /**
   * Binds the port. The server accepts connections immediately, and responds to requests after
   * {@link #serve}.
   *
   * @param port the port; 0 selects a free port
   * @param maxConnections maximum number of open connections, ≥ 1
   * @param registry the registry that {@code /metrics} shows; the server adds its own metrics and
   *     the metrics of partitions
   * @param access access control of the routes; closed with the server
   * @param tls TLS configuration of the port; null without TLS; closed with the server
   * @throws IOException if the port is in use
   */
  public static ReportServer bind(
      String host,
      int port,
      int maxConnections,
      Clock clock,
      PrometheusMeterRegistry registry,
      Access access,
      @Nullable Tls tls)
      throws IOException {
    ServerSocketChannel channel = ServerSocketChannel.open();
    try {
      channel.setOption(StandardSocketOptions.SO_REUSEADDR, true);
      channel.bind(new InetSocketAddress(host, port), MAX_WAITING_CONNECTIONS);
      return new ReportServer(channel, maxConnections, clock, registry, access, tls);
    } catch (IOException | RuntimeException refused) {
      channel.close();
      throw refused;
    }
  }

  /** Returns the bound port. */
  public int port() {
    return channel.socket().getLocalPort();
  }

  /**
   * The sources of the reports.
   *
   * @param meterCore the Streams application that counts
   * @param rebalances the state of the application
   * @param instances the aggregators with copies of each partition
   * @param stopped the partitions that have stopped
   * @param store the table of usage figures
   * @param follower the follower that updates the table
   * @param rankings the rankings of the table; empty if rankings are disabled
   * @param signal the signal of changes of the table
   * @param cache the decision cache
   */
  public record Sources(
      KafkaStreams meterCore,
      Rebalances rebalances,
      Instances instances,
      StoppedPartitions stopped,
      TableStore store,
      TableFollower follower,
      Optional<Rankings> rankings,
      ProgressSignal signal,
      LiveCache cache) {}

  /** Starts to respond to requests. */
  public void serve(Sources from, ReportSettings settings) {
    Instances instances = from.instances();
    UsageTable table = new FollowedUsageTable(from.store(), from.follower());
    PeerReports peers = new PeerReports(tls);
    int partitions = settings.partitions();
    AllPartitions all = new AllPartitions(table, instances::peers, peers, partitions);
    ReportTurns turns = ReportTurns.ofHalfTheProcessors(registry);
    parts =
        new Parts(
            new ClientRoutes(
                instances,
                new UsageReports(table, from.signal(), settings, turns, clock),
                new CurrentReports(
                    new BucketSnapshots(
                        from.meterCore(),
                        MeterTopology.BUCKETS,
                        bytes -> BucketAudit.decode(bytes).snapshot()),
                    from.cache()),
                new EventReports(table, settings),
                peers,
                settings,
                clock),
            new ClientReports(all, turns),
            new CompletenessReports(all),
            new AccuracyReports(all),
            from.rankings().map(known -> new RankingReports(all, known)),
            settings,
            new ReportMetrics(registry, table, instances, partitions, clock, from.stopped()),
            new Readiness(table, instances, from.rebalances(), from.stopped(), partitions),
            from.store());
    javalin.start();
    slowHeads.start();
  }

  private ServerConnector connector(Server server, HttpConfiguration http) {
    ServerConnector connector = new ServerConnector(server, Tls.protocols(tls, http));
    try {
      connector.open(channel);
      connector.addBean(new ConnectionLimit(maxConnections, connector));
      connector.addBean(new JettyConnectionMetrics(registry, connector));
      return connector;
    } catch (IOException closed) {
      throw new UncheckedIOException(closed);
    }
  }

  /** Makes the readiness check fail, because the process will stop. */
  public void drain() {
    draining = true;
  }

  private void configure(JavalinConfig config) {
    ApiPages pages = new ApiPages(ApiDescription.ofReportsApi());
    config.startup.showJavalinBanner = false;
    config.jetty.addConnector(this::connector);
    config.jetty.modifyHttpConfiguration(http -> http.setIdleTimeout(STALLED.toMillis()));
    config.jetty.modifyServer(
        server -> {
          server.setStopTimeout(STOP_TIMEOUT.toMillis());
          server.insertHandler(pages);
          server.insertHandler(new RequestPreparation());
          server.insertHandler(new AccessHandler(access, new ReportRules()));
          server.setErrorHandler(new RefusedRequests());
          new JettyServerThreadPoolMetrics(server.getThreadPool(), List.of()).bindTo(registry);
        });
    config.concurrency.useVirtualThreads = Runtime.version().feature() >= VIRTUAL_THREADS_SINCE;
    config.http.prefer405over404 = true;
    // a response is valid only for one client and for a short time, so HTTP caches must not store
    // it
    config.routes.before(ctx -> ctx.header("Cache-Control", "no-store"));
    config.routes.get("/", this::page);
    config.routes.get(ProblemReason.PATH + "{reason}", this::problemPage);
    pages.register(config, ctx -> send(ctx, Routes.REPORTS_API.missing(ctx.path())));
    config.routes.get("/health/live", this::live);
    config.routes.get("/health/ready", this::ready);
    config.routes.get("/metrics", this::metrics);
    config.routes.get("/v1/usage", ctx -> serving().clients().usage(ctx));
    config.routes.get("/v1/usage/{client}/current", ctx -> serving().clients().current(ctx));
    config.routes.get("/v1/usage/{client}/events", ctx -> serving().clients().events(ctx));
    config.routes.post(PortalRoute.PATH, new PortalRoute(access, clock)::create);
    config.routes.get(ClientReports.PATH, this::clients);
    config.routes.get("/v1/endpoints", ctx -> ranking(ctx, RankingSelection.Subject.ENDPOINTS));
    config.routes.get(RankingReports.INTERNAL_PATH, this::localRanking);
    config.routes.get(CompletenessReports.PATH, this::completeness);
    config.routes.get("/v1/accuracy", this::accuracy);
    config.routes.get(
        AccuracyReports.INTERNAL_PATH, ctx -> send(ctx, serving().accuracy().local()));
    config.routes.exception(ProblemException.class, (refused, ctx) -> send(ctx, refused.problem()));
    config.routes.exception(
        MethodNotAllowedResponse.class,
        (refused, ctx) -> {
          if (AllowedMethods.answer(ctx, refused)) {
            return;
          }
          send(ctx, Problem.of(ProblemReason.METHOD_NOT_ALLOWED, ctx.method() + " " + ctx.path()));
        });
    config.routes.exception(
        Exception.class,
        (failed, ctx) -> {
          LOG.error("a request to the reports API failed path={}", ctx.path(), failed);
          send(ctx, Problem.of(ProblemReason.INTERNAL_ERROR, "see the aggregator's log"));
        });
    config.routes.error(
        404,
        ctx -> {
          if (!Problem.MEDIA_TYPE.equals(ctx.res().getContentType())) {
            send(ctx, Routes.REPORTS_API.missing(ctx.path()));
          }
        });
  }

  private void page(Context ctx) throws IOException {
    try (InputStream page =
        Objects.requireNonNull(ReportServer.class.getResourceAsStream("usage.html"))) {
      ctx.header(
          "Content-Security-Policy",
          "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline';"
              + " connect-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none';"
              + " form-action 'none'");
      ctx.header("X-Content-Type-Options", "nosniff");
      ctx.contentType("text/html; charset=utf-8").result(page.readAllBytes());
    }
  }

  private void problemPage(Context ctx) {
    String page = pages.page(ctx.pathParam("reason"));
    if (page == null) {
      throw new ProblemException(
          ProblemReason.NO_SUCH_ROUTE, ctx.path() + ": there is no such problem");
    }
    ctx.contentType(ProblemPages.MEDIA_TYPE).result(page);
  }

  private void live(Context ctx) {
    Parts serving = parts;
    TableException failure = serving == null ? null : serving.store().failure();
    if (failure != null) {
      throw new ProblemException(ProblemReason.NOT_READY, String.valueOf(failure.getMessage()));
    }
    send(ctx, Answer.json(200, Map.of("status", "up")));
  }

  private void ready(Context ctx) {
    if (draining) {
      throw new ProblemException(ProblemReason.NOT_READY, "the aggregator is stopping");
    }
    send(ctx, Answer.json(200, serving().readiness().check()));
  }

  private void metrics(Context ctx) {
    ctx.contentType("text/plain; version=0.0.4; charset=utf-8")
        .result(serving().metrics().scrape());
  }

  private void clients(Context ctx) throws InterruptedException {
    Parameters parameters = new Parameters(ctx.queryParamMap()).onlyKnown(RankingQuery.PARAMETERS);
    if (!parameters.one("order", "").isEmpty()) {
      ranking(ctx, RankingSelection.Subject.CLIENTS);
      return;
    }
    for (String ofRankings : List.of("meter", "from", "to")) {
      if (!parameters.one(ofRankings, "").isEmpty()) {
        throw Parameters.bad(ofRankings, "is allowed only with order=quantity or order=denied");
      }
    }
    String prefix = RankingQuery.prefix(parameters);
    int limit = parameters.count("limit", DEFAULT_CLIENTS, ClientReports.MAX_CLIENTS);
    String query = ctx.queryString();
    String pathAndQuery = ClientReports.PATH + (query == null ? "" : "?" + query);
    send(ctx, serving().names().answer(prefix, limit, pathAndQuery, ReportCaller.of(ctx)));
  }

  private void ranking(Context ctx, RankingSelection.Subject subject) throws InterruptedException {
    RankingQuery query =
        RankingQuery.of(subject, ctx.queryParamMap(), serving().settings(), clock.instant());
    send(ctx, serving().rankings().orElseThrow().answer(query, ReportCaller.of(ctx)));
  }

  private void localRanking(Context ctx) throws InterruptedException {
    Optional<RankingReports> rankings = serving().rankings();
    send(
        ctx,
        rankings.isPresent()
            ? rankings.get().local(ctx.queryParamMap())
            : Answer.json(200, Map.of("partitions", List.of())));
  }

  private void completeness(Context ctx) throws InterruptedException {
    new Parameters(ctx.queryParamMap()).onlyKnown(Set.of());
    send(ctx, serving().completeness().answer(ReportCaller.of(ctx), clock.instant()));
  }

  private void accuracy(Context ctx) throws InterruptedException {
    new Parameters(ctx.queryParamMap()).onlyKnown(Set.of());
    send(ctx, serving().accuracy().fleet(ReportCaller.of(ctx)));
  }

  private Parts serving() {
    return Objects.requireNonNull(parts, "serve() was not called before the first request");
  }

  static void send(Context ctx, Answer answer) {
    String position = answer.position();
    if (position != null) {
      ctx.header(POSITION_HEADER, position);
    }
    String nextPage = answer.nextPage();
    if (nextPage != null) {
      ctx.header(NEXT_PAGE_HEADER, nextPage);
    }
    ctx.status(answer.status()).contentType(answer.mediaType()).result(answer.body());
  }

  private static void send(Context ctx, Problem problem) {
    if (problem.reason() == ProblemReason.BUSY) {
      ctx.header("Retry-After", "1");
    }
    ctx.status(problem.status()).contentType(Problem.MEDIA_TYPE).result(problem.toJson());
  }

  @Override
  public void close() throws IOException {
    slowHeads.close();
    if (parts != null) {
      javalin.stop();
    }
    channel.close();
    access.close();
    if (tls != null) {
      tls.close();
    }
  }
}
