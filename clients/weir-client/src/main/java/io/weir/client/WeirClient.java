// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import io.weir.client.Decision.Cause;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A client of Weir's check API. The client checks whether calls may pass. A program needs only one
 * instance. Thread-safe.
 *
 * <p>Each check has a decision before its deadline. Either a node decides, or the client decides by
 * its {@link FailureMode} ({@link Decision.Undecided}). If a try fails, the client sends the
 * request to the next node. All tries have the same id, and Weir counts the call once. But each try
 * that a node decides may charge the call's buckets. If a node refuses a request as wrong, the
 * client throws a {@link WeirRequestException}.
 *
 * <p>The futures complete on threads that serve all calls. Dependent stages of the futures must
 * therefore not block.
 */
public final class WeirClient implements AutoCloseable {
  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(2);

  /** Default timeout of a try: 300 ms. Without a reply of Redis, a node decides after 250 ms. */
  private static final Duration TRY_TIMEOUT = Duration.ofMillis(300);

  private final WeirClientSettings settings;
  private final Nodes nodes;
  private final Transport transport;
  private final ScheduledThreadPoolExecutor timer;
  private final @Nullable Batcher batcher;
  private final CallIds ids = new CallIds(Clock.systemUTC());

  /** Number of requests in progress, decremented before the future of a request completes. */
  private final AtomicInteger underWay = new AtomicInteger();

  /**
   * Number of requests whose futures have not completed. {@link #close} waits for these futures.
   */
  private final AtomicInteger uncompleted = new AtomicInteger();

  private final AtomicBoolean closed = new AtomicBoolean();
  private final CompletableFuture<Void> drained = new CompletableFuture<>();

  private WeirClient(WeirClientSettings settings) {
    this.settings = settings;
    this.nodes = new Nodes(settings.nodes(), System::nanoTime);
    this.timer = new ScheduledThreadPoolExecutor(1, WeirClient::timerThread);
    timer.setRemoveOnCancelPolicy(true);
    // after the close, the timer rejects tasks; these are only timeouts of completed requests
    timer.setRejectedExecutionHandler(new ThreadPoolExecutor.DiscardPolicy());
    HttpClient given = settings.http();
    this.transport =
        new Transport(given == null ? ownHttp(settings) : given, nodes, settings.token(), timer);
    this.batcher =
        settings.makesBatches()
            ? new Batcher(transport, timer, settings.batchLinger(), settings.batchSize())
            : null;
  }

  private static HttpClient ownHttp(WeirClientSettings settings) {
    return HttpClient.newBuilder()
        .version(HttpClient.Version.HTTP_1_1)
        .connectTimeout(shorter(CONNECT_TIMEOUT, settings.tryTimeout()))
        .build();
  }

  private static Duration shorter(Duration one, Duration other) {
    return one.compareTo(other) < 0 ? one : other;
  }

  private static Thread timerThread(Runnable task) {
    Thread thread = new Thread(task, "weir-client-timer");
    thread.setDaemon(true);
    return thread;
  }

  /**
   * Creates a builder of a client.
   *
   * @param failureMode the decision if no node decides before the deadline. There is no default:
   *     the program must choose between calls without a limit and refused calls
   * @param nodes base URLs of the nodes, such as {@code http://weir-1:8080}, at least one
   */
  public static Builder builder(FailureMode failureMode, URI... nodes) {
    return new Builder(failureMode, Arrays.asList(nodes));
  }

  /**
   * Checks whether a call may pass. Waits for the decision, at most until the default deadline. An
   * interrupt of the thread does not end the wait.
   *
   * @throws WeirRequestException if a node refuses the request as wrong
   * @throws IllegalStateException if the client is closed
   */
  public Decision check(Call call) {
    return await(checkAsync(call));
  }

  /** Checks whether a call may pass, with the default deadline. */
  public CompletableFuture<Decision> checkAsync(Call call) {
    return checkAsync(call, settings.deadline());
  }

  /**
   * Checks whether a call may pass.
   *
   * @param deadline maximum time until a node or this client decides the call; at most 10 minutes
   * @return the decision; the future fails with a {@link WeirRequestException} if a node refuses
   *     the request as wrong
   * @throws IllegalArgumentException if the deadline is greater than 10 minutes, is not greater
   *     than zero, or is not greater than the linger time of batches
   * @throws IllegalStateException if the client is closed
   */
  public CompletableFuture<Decision> checkAsync(Call call, Duration deadline) {
    WeirClientSettings.requireTime("deadline", deadline);
    Duration linger = settings.batchLinger();
    if (deadline.compareTo(linger) <= 0) {
      throw new IllegalArgumentException(
          "deadline must be greater than the linger time of batches, "
              + linger
              + ", but is "
              + deadline);
    }
    String given = call.id();
    String id = given == null ? ids.next() : given;
    byte[] body = CallWriter.check(call, id);
    return submit(
        settings.ofChecks(deadline),
        timeout -> send(id, body, timeout),
        (cause, detail) ->
            new Decision.Undecided(id, cause.passes(settings.failureMode()), cause, detail));
  }

  private CompletableFuture<TryOutcome<Decision>> send(String id, byte[] body, Duration timeout) {
    return batcher != null
        ? batcher.add(id, body, timeout)
        : transport.post(
            Transport.CHECK, Map.of(), body, timeout, answer -> AnswerReader.check(answer, id));
  }

  /**
   * Settles an allowed call at its actual cost. A cost of 0 voids the call. A call can be settled
   * only once. A repeated request with the same cost has the same result.
   *
   * @param verdict the verdict on the call; with the usage position in the verdict, Weir finds the
   *     call fast
   * @param actualCost the actual cost, at least 0
   * @return the result; the future fails with a {@link WeirRequestException} if a node refuses the
   *     request as wrong
   */
  public CompletableFuture<Settlement> settle(Verdict verdict, long actualCost) {
    String position = verdict.usagePosition();
    return settle(
        verdict.client(),
        verdict.id(),
        actualCost,
        position == null ? Map.of() : Map.of("Usage-Position", position));
  }

  /**
   * Settles an allowed call at its actual cost, like {@link #settle(Verdict, long)}. If this client
   * or a node created the id, Weir finds the call by the time in the id.
   */
  public CompletableFuture<Settlement> settle(String client, String id, long actualCost) {
    return settle(client, id, actualCost, Map.of());
  }

  private CompletableFuture<Settlement> settle(
      String client, String id, long actualCost, Map<String, String> headers) {
    if (actualCost < 0) {
      throw new IllegalArgumentException("actualCost must be at least 0, but is " + actualCost);
    }
    String segment = URLEncoder.encode(id, StandardCharsets.UTF_8).replace("+", "%20");
    byte[] body = CallWriter.object(Map.of("client", client, "actual_cost", actualCost));
    return submit(
        settings.ofSettlements(),
        timeout ->
            transport.post(
                "/v1/calls/" + segment + "/settle",
                headers,
                body,
                timeout,
                AnswerReader::settlement),
        (cause, detail) -> new Settlement.Unavailable(detail, Duration.ofSeconds(1)));
  }

  /**
   * Renews a slot for another lease. The program must use the returned slot for further requests.
   */
  public CompletableFuture<SlotRenewal> renew(HeldSlot slot) {
    return submit(
        settings.ofChecks(settings.deadline()),
        timeout -> ofSlot("/v1/slots/renew", slot, timeout, AnswerReader::renewal),
        (cause, detail) -> new SlotRenewal.Unavailable(detail));
  }

  /**
   * Releases a slot. The program must call this method once, after the last check and the last
   * renewal have ended.
   */
  public CompletableFuture<SlotRelease> release(HeldSlot slot) {
    return submit(
        settings.ofChecks(settings.deadline()),
        timeout -> ofSlot("/v1/slots/release", slot, timeout, AnswerReader::release),
        (cause, detail) -> SlotRelease.UNAVAILABLE);
  }

  private <T> CompletableFuture<TryOutcome<T>> ofSlot(
      String route,
      HeldSlot slot,
      Duration timeout,
      Function<Transport.Answer, TryOutcome<T>> reader) {
    byte[] body = CallWriter.object(Map.of("slot", slot.token()));
    return transport.post(route, Map.of(), body, timeout, reader);
  }

  private <T> CompletableFuture<T> submit(
      Attempts.Bounds bounds,
      Function<Duration, CompletableFuture<TryOutcome<T>>> request,
      BiFunction<Cause, String, T> fallback) {
    uncompleted.incrementAndGet();
    boolean hasPlace = underWay.incrementAndGet() <= settings.maxUnderWay();
    if (closed.get() || !hasPlace) {
      underWay.decrementAndGet();
      completed();
      if (closed.get()) {
        throw new IllegalStateException("the client is closed");
      }
      return CompletableFuture.completedFuture(
          fallback.apply(
              Cause.OVERLOADED,
              "this client has the maximum of "
                  + settings.maxUnderWay()
                  + " requests in progress"));
    }
    CompletableFuture<T> answer;
    try {
      answer = new Attempts<>(nodes, timer, bounds, request, fallback).begin();
    } catch (Throwable notBegun) {
      underWay.decrementAndGet();
      completed();
      throw notBegun;
    }
    CompletableFuture<T> handedOut =
        answer.whenComplete((value, thrown) -> underWay.decrementAndGet());
    var unused = handedOut.whenComplete((value, thrown) -> completed());
    return handedOut;
  }

  private void completed() {
    if (uncompleted.decrementAndGet() == 0 && closed.get()) {
      drained.complete(null);
    }
  }

  private static <T> T await(CompletableFuture<T> future) {
    try {
      return future.join();
    } catch (CompletionException failed) {
      if (failed.getCause() instanceof WeirRequestException wrong) {
        throw wrong;
      }
      throw failed;
    }
  }

  /**
   * Closes the client. A closed client accepts no more requests. Waits until each request in
   * progress has a result or reaches its deadline. A second call has no effect.
   */
  @Override
  public void close() {
    closed.set(true);
    if (batcher != null) {
      batcher.flush();
    }
    if (uncompleted.get() == 0) {
      drained.complete(null);
    }
    drained.join();
    timer.shutdownNow();
  }

  /** Builder of a client. Not thread-safe. */
  public static final class Builder {
    private final FailureMode failureMode;
    private final List<URI> nodes;
    private @Nullable Supplier<String> token;
    private @Nullable HttpClient http;
    private Duration deadline = Duration.ofSeconds(1);
    private @Nullable Duration tryTimeout;
    private Duration settleDeadline = Duration.ofSeconds(15);
    private int maxTries = 3;
    private Duration batchLinger = Duration.ZERO;
    private int batchSize = 100;
    private int maxUnderWay = 10_000;

    private Builder(FailureMode failureMode, List<URI> nodes) {
      this.failureMode = Objects.requireNonNull(failureMode, "failureMode");
      this.nodes = List.copyOf(nodes);
    }

    /** Sets the bearer token of each request. By default, requests have no token. */
    public Builder token(String value) {
      Objects.requireNonNull(value, "token");
      return token(() -> value);
    }

    /**
     * Sets a supplier of the bearer token. The client calls the supplier before each request; the
     * token can therefore change.
     */
    public Builder token(Supplier<String> value) {
      this.token = Objects.requireNonNull(value, "token");
      return this;
    }

    /**
     * Sets the HTTP client, with its certificates, proxy, HTTP version and connect timeout. By
     * default, the builder creates a client for HTTP/1.1.
     */
    public Builder http(HttpClient value) {
      this.http = Objects.requireNonNull(value, "http");
      return this;
    }

    /** Sets the maximum time until a node or the client decides a call; 1 s by default. */
    public Builder deadline(Duration value) {
      this.deadline = value;
      return this;
    }

    /**
     * Sets the timeout of one try of a check. The default is 300 ms, or the deadline if the
     * deadline is shorter. Nodes with {@code WEIR_DURABILITY=acked} need a longer timeout, because
     * these nodes wait for Kafka.
     */
    public Builder tryTimeout(Duration value) {
      this.tryTimeout = value;
      return this;
    }

    /**
     * Sets the maximum time until a settlement has a result. The default is 15 s, because a
     * settlement waits until the call is counted.
     */
    public Builder settleDeadline(Duration value) {
      this.settleDeadline = value;
      return this;
    }

    /** Sets the maximum number of tries of one request, at least 1; 3 by default. */
    public Builder maxTries(int value) {
      this.maxTries = value;
      return this;
    }

    /**
     * Combines checks that arrive within a short time into one request. By default, each check is a
     * separate request. A separate request does not wait for other checks. The response to a
     * separate request has more header fields than the response to a batch.
     *
     * @param linger time that the first check of a batch waits for other checks; zero for no
     *     batches
     * @param size maximum number of checks in a batch, 1 to 1,000
     */
    public Builder batches(Duration linger, int size) {
      this.batchLinger = linger;
      this.batchSize = size;
      return this;
    }

    /**
     * Sets the maximum number of concurrent requests, at least 1; 10,000 by default. While this
     * number of requests is in progress, the client immediately returns {@link Decision.Undecided}
     * with {@link Cause#OVERLOADED}.
     */
    public Builder maxUnderWay(int value) {
      this.maxUnderWay = value;
      return this;
    }

    /**
     * Creates the client. The client connects to a node at the first request.
     *
     * @throws IllegalArgumentException if a setting is not valid; the message states the setting
     */
    public WeirClient build() {
      Duration aTry = tryTimeout;
      return new WeirClient(
          new WeirClientSettings(
              failureMode,
              nodes,
              token,
              http,
              deadline,
              aTry == null ? shorter(TRY_TIMEOUT, deadline) : aTry,
              settleDeadline,
              maxTries,
              batchLinger,
              batchSize,
              maxUnderWay));
    }
  }
}
