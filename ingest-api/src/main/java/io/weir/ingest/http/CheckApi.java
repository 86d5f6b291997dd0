// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.javalin.Javalin;
import io.javalin.config.JavalinConfig;
import io.javalin.http.Context;
import io.javalin.http.HttpResponseException;
import io.javalin.http.MethodNotAllowedResponse;
import io.weir.access.Access;
import io.weir.access.AccessHandler;
import io.weir.access.AllowedMethods;
import io.weir.access.Tls;
import io.weir.access.openapi.ApiDescription;
import io.weir.access.openapi.ApiPages;
import io.weir.access.port.SlowHeads;
import io.weir.decision.DecisionCache;
import io.weir.ingest.correct.Corrections;
import io.weir.ingest.event.EventRules;
import io.weir.ingest.gate.CallLog;
import io.weir.ingest.gate.CheckGate;
import io.weir.ingest.policy.log.PolicyFollower;
import io.weir.ingest.rls.RateLimits;
import io.weir.ingest.settle.Settler;
import io.weir.ingest.trace.Traces;
import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemPages;
import io.weir.topics.problem.ProblemReason;
import io.weir.topics.problem.Routes;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.eclipse.jetty.server.Handler;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The HTTP server of the check API. */
public final class CheckApi implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(CheckApi.class);

  /** Maximum time that a stop waits for calls in progress: the maximum wait of a call for Kafka. */
  private static final Duration FINISH_LIMIT = Duration.ofSeconds(5);

  private static final Duration FINISH_LOOK = Duration.ofMillis(5);

  private static final String JSON = "application/json";

  private final Parts parts;
  private final DirectRoutes direct;
  private final SettleRoute settle;
  private final Admission admission;
  private final UnreadAnswers unread;
  private final IncompleteBodies bodies = new IncompleteBodies();
  private final ProblemPages pages = ProblemPages.load();
  private final Javalin javalin;
  private final SlowHeads slowHeads;
  private volatile boolean stopping;

  /**
   * The components that the routes use.
   *
   * @param cache the decision cache; readiness responses contain the cache's health
   * @param log the log; readiness responses contain the log's health, and the node is ready only
   *     while the log is healthy
   * @param corrections returns the health of the corrections; this health does not affect readiness
   * @param isStarted whether the node has completed its start; a starting node is not ready
   * @param metrics returns the metrics in the Prometheus text format
   * @param policies the node's policies, and the access rules for reading and changing them; null
   *     to omit these routes
   * @param events the rules that convert usage events
   * @param access the tokens and scopes that each route requires
   * @param tls the TLS configuration of the port; null for no TLS
   * @param traces selects the checks to trace
   */
  public record Parts(
      CheckGate gate,
      Settler settler,
      DecisionCache cache,
      CallLog log,
      Supplier<Corrections.Health> corrections,
      BooleanSupplier isStarted,
      Supplier<String> metrics,
      @Nullable PolicyAdmin policies,
      EventRules events,
      Access access,
      @Nullable Tls tls,
      Traces traces) {}

  /**
   * The policies that operators read and change over HTTP, and the permitted senders.
   *
   * @param access the permitted senders of requests without tokens
   * @param hosts host names in lower case. Web pages from these hosts and from numeric addresses
   *     may send requests. These names are used only for {@link AdminAccess#ANY}
   * @param hasTokens whether operators have tokens; if true, any sender with a token is permitted
   */
  public record PolicyAdmin(
      PolicyFollower follower, AdminAccess access, Set<String> hosts, boolean hasTokens) {
    public PolicyAdmin {
      hosts = Set.copyOf(hosts);
    }
  }

  private CheckApi(
      Parts parts,
      HttpSettings settings,
      @Nullable Executor callThreads,
      HttpStatistics statistics) {
    this.parts = parts;
    this.direct = new DirectRoutes(parts, settings, statistics);
    this.settle = new SettleRoute(parts.settler(), settings.unknownMembers());
    this.admission = Admission.of(settings);
    this.unread =
        new UnreadAnswers(
            statistics.timedOut(HttpStatistics.Part.ANSWER),
            settings.effectiveUnreadBytes(Runtime.getRuntime().maxMemory()));
    statistics.watch(admission, bodies);
    ApiPages pages = new ApiPages(ApiDescription.ofCheckApi());
    this.javalin =
        Javalin.create(
            config -> {
              Executor serverThreads = HttpServerSetup.threads(config, settings);
              Executor threads = callThreads == null ? serverThreads : callThreads;
              List<Handler.Wrapper> handlers =
                  List.of(
                      new AdmissionHandler(threads, direct, admission, bodies, unread, statistics),
                      pages,
                      new AccessHandler(parts.access(), new CheckApiRules()));
              HttpServerSetup.apply(config, settings, parts.tls(), handlers, admission, statistics);
              routes(config, pages);
              PolicyAdmin policies = parts.policies();
              if (policies != null) {
                new ApiKeyRoutes(policies).register(config);
                new PolicyRoutes(policies).register(config);
              }
            });
    this.slowHeads =
        new SlowHeads(
            javalin.jettyServer().server(),
            bodies,
            () -> ProblemWriter.message(IncompleteBodies.TOO_SLOW),
            statistics.timedOut(HttpStatistics.Part.HEADERS)::increment);
  }

  /**
   * Starts the server.
   *
   * @param statistics counts refused requests
   */
  public static CheckApi start(Parts parts, HttpSettings settings, HttpStatistics statistics) {
    return start(parts, settings, null, statistics);
  }

  /** Starts the server. Calls run on the given threads; if null, on the server's threads. */
  static CheckApi start(
      Parts parts,
      HttpSettings settings,
      @Nullable Executor callThreads,
      HttpStatistics statistics) {
    CheckApi api = new CheckApi(parts, settings, callThreads, statistics);
    try {
      api.javalin.start();
    } catch (RuntimeException notStarted) {
      api.direct.close();
      throw notStarted;
    }
    api.slowHeads.start();
    return api;
  }

  private void routes(JavalinConfig config, ApiPages pages) {
    // the router answers other methods and OPTIONS
    direct.posts().forEach(path -> config.routes.post(path, CheckApi::refuseAlternativePath));
    config.routes.post(SettleRoute.PATH, this::settle);
    config.routes.get(ProblemReason.PATH + "{reason}", this::problemPage);
    pages.register(config, CheckApi::refuseAlternativePath);
    config.routes.get("/health/live", context -> context.contentType(JSON).result("{\"ok\":true}"));
    config.routes.get("/health/ready", this::ready);
    config.routes.get(AdmissionHandler.METRICS, this::metrics);
    config.routes.exception(
        HttpResponseException.class,
        (refused, context) -> {
          if (refused instanceof MethodNotAllowedResponse others
              && AllowedMethods.answer(context, others)) {
            return;
          }
          answer(context, refusal(context, refused));
        });
    config.routes.exception(
        Exception.class,
        (failed, context) -> {
          LOG.error("request failed path={}", context.path(), failed);
          answer(context, ProblemWriter.FAILED);
        });
  }

  private static Problem refusal(Context context, HttpResponseException refused) {
    String detail = context.method() + " " + context.path() + ": " + refused.getMessage();
    return switch (refused.getStatus()) {
      case 404 -> Routes.CHECK_API.missing(context.path());
      case 405 -> Problem.of(ProblemReason.METHOD_NOT_ALLOWED, detail);
      default -> Problem.malformed(refused.getStatus(), detail);
    };
  }

  private void metrics(Context context) {
    if (!AdmissionHandler.METRICS.equals(context.req().getRequestURI())) {
      // the path is an alternative spelling, and the bound on scrapes was not applied to it
      answer(context, Routes.CHECK_API.missing(context.path()));
      return;
    }
    String text = parts.metrics().get();
    context.contentType("text/plain; version=0.0.4; charset=utf-8").result(text);
  }

  private void problemPage(Context context) {
    String page = pages.page(context.pathParam("reason"));
    if (page == null) {
      answer(
          context,
          Problem.of(ProblemReason.NO_SUCH_ROUTE, context.path() + ": there is no such problem"));
    } else {
      context.contentType(ProblemPages.MEDIA_TYPE).result(page);
    }
  }

  /**
   * Refuses an alternative spelling of a path that is served without the servlet. Only the servlet
   * accepts alternative spellings; therefore the route's bounds were not applied to the request.
   */
  private static void refuseAlternativePath(Context context) {
    answer(context, Routes.CHECK_API.missing(context.req().getRequestURI()));
  }

  private void settle(Context context) {
    Problem problem;
    if (direct.isRefusing()) {
      context.header("Connection", "close");
      problem = ProblemWriter.STOPPING;
    } else {
      problem = settle.handle(context);
    }
    if (problem != null) {
      answer(context, problem);
    }
  }

  static void answer(Context context, Problem problem) {
    context.status(problem.status());
    context.contentType(Problem.MEDIA_TYPE);
    if (problem.status() == 503) {
      context.header("Retry-After", Exchange.RETRY_AFTER_UNAVAILABLE_SECONDS);
    }
    context.result(problem.toJson());
  }

  private void ready(Context context) {
    DecisionCache.Health cacheHealth = parts.cache().check();
    CallLog.Health logHealth = parts.log().check();
    boolean starting = !parts.isStarted().getAsBoolean();
    boolean ready = isReady(logHealth, starting);
    context.status(ready ? 200 : 503);
    context.contentType(JSON);
    context.result(
        HealthBody.of(
            ready,
            starting,
            stopping,
            cacheHealth,
            logHealth,
            parts.corrections().get(),
            parts.policies() == null ? null : parts.policies().follower().health()));
  }

  private boolean isReady(CallLog.Health logHealth, boolean starting) {
    // after the start only the log affects readiness, because policies can decide calls without the
    // cache
    return logHealth.ok() && !starting && !stopping;
  }

  /** Returns whether the node is ready for calls. */
  public boolean isReady() {
    return isReady(parts.log().check(), !parts.isStarted().getAsBoolean());
  }

  /** Returns the component that decides requests of Envoy's rate limit service. */
  public RateLimits rateLimits() {
    return direct.rateLimits();
  }

  /** Returns the port on which the server listens. */
  public int port() {
    return javalin.port();
  }

  /**
   * Reports the node as not ready ("stopping"). Load balancers then send calls to other nodes. This
   * node still answers calls.
   */
  public void beginStop() {
    stopping = true;
  }

  /** Answers new calls with 503 and closes their connections. */
  public void refuseNewCalls() {
    direct.refuse();
  }

  /** Waits at most a few seconds for the calls in progress, and then stops the server. */
  @Override
  public void close() {
    close(FINISH_LIMIT);
  }

  /** Waits for the calls in progress for at most the given time, and then stops the server. */
  void close(Duration finishLimit) {
    stopping = true;
    direct.refuse();
    bodies.stop();
    long end = System.nanoTime() + finishLimit.toNanos();
    while ((admission.underWay() > 0 || unread.size() > 0) && System.nanoTime() < end) {
      LockSupport.parkNanos(FINISH_LOOK.toNanos());
    }
    slowHeads.close();
    javalin.stop();
    direct.close();
    parts.access().close();
    if (parts.tls() != null) {
      parts.tls().close();
    }
  }
}
