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
 * Asks Weir whether calls may pass. Thread-safe; one client serves a whole program.
 *
 * <p>Each check is answered within its deadline: by a node, or else by the client in its {@link
 * FailureMode} ({@link Decision.Undecided}). A try that fails is repeated at the next node with the
 * same id, so that the call is counted once, though its buckets may be charged once for each try
 * that a node has decided. A mistake in a request is a {@link WeirRequestException}, and never a
 * decision.
 *
 * <p>Futures are completed by threads that the client shares among all calls, so what depends on
 * them must not block.
 */
public final class WeirClient implements AutoCloseable {
  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(2);

  /** Redis has 250 ms of it before a policy decides without Redis. */
  private static final Duration TRY_TIMEOUT = Duration.ofMillis(300);

  private final Settings settings;
  private final Nodes nodes;
  private final Transport transport;
  private final ScheduledThreadPoolExecutor timer;
  private final @Nullable Batcher batcher;
  private final CallIds ids = new CallIds(Clock.systemUTC());

  /** Calls that take a place; each gives it back before its caller is told. */
  private final AtomicInteger underWay = new AtomicInteger();

  /** Calls whose callers are not told yet, for which the end of the client waits. */
  private final AtomicInteger untold = new AtomicInteger();

  private final AtomicBoolean closed = new AtomicBoolean();
  private final CompletableFuture<Void> drained = new CompletableFuture<>();

  private WeirClient(Settings settings) {
    this.settings = settings;
    this.nodes = new Nodes(settings.nodes(), System::nanoTime);
    this.timer = new ScheduledThreadPoolExecutor(1, WeirClient::timerThread);
    timer.setRemoveOnCancelPolicy(true);
    // after the close only what belongs to an answered call is left to be refused
    timer.setRejectedExecutionHandler(new ThreadPoolExecutor.DiscardPolicy());
    HttpClient given = settings.http();
    this.transport =
        new Transport(given == null ? ownHttp(settings) : given, nodes, settings.token(), timer);
    this.batcher =
        settings.makesBatches()
            ? new Batcher(transport, timer, settings.batchLinger(), settings.batchSize())
            : null;
  }

  private static HttpClient ownHttp(Settings settings) {
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
   * Begins the settings of a client.
   *
   * @param failureMode what is decided when no node has decided in time; there is no default, since
   *     either choice costs something: calls that are not limited, or calls that are refused
   * @param nodes addresses of the nodes, such as {@code http://weir-1:8080}, at least one
   */
  public static Builder builder(FailureMode failureMode, URI... nodes) {
    return new Builder(failureMode, Arrays.asList(nodes));
  }

  /**
   * Asks whether a call may pass, and waits for the decision, at most until the deadline of the
   * settings. An interrupt does not end the wait.
   *
   * @throws WeirRequestException if a node refuses the request as wrong
   * @throws IllegalStateException if the client is closed
   */
  public Decision check(Call call) {
    return await(checkAsync(call));
  }

  /** Asks whether a call may pass, with the deadline of the settings. */
  public CompletableFuture<Decision> checkAsync(Call call) {
    return checkAsync(call, settings.deadline());
  }

  /**
   * Asks whether a call may pass.
   *
   * @param deadline until the call is decided, by a node or else by this client; at most 10 minutes
   * @return the decision; completed with a {@link WeirRequestException} if a node refuses the
   *     request as wrong
   * @throws IllegalArgumentException if the deadline is not above zero and above the linger time of
   *     batches, or is above 10 minutes
   * @throws IllegalStateException if the client is closed
   */
  public CompletableFuture<Decision> checkAsync(Call call, Duration deadline) {
    Settings.requireTime("deadline", deadline);
    Duration linger = settings.batchLinger();
    if (deadline.compareTo(linger) <= 0) {
      throw new IllegalArgumentException(
          "deadline must be above the linger time of batches, " + linger + ", is " + deadline);
    }
    String given = call.id();
    String id = given == null ? ids.next() : given;
    byte[] body = CallWriter.check(call, id);
    return ask(
        settings.ofChecks(deadline),
        timeout -> send(id, body, timeout),
        (cause, detail) ->
            new Decision.Undecided(id, cause.passes(settings.failureMode()), cause, detail));
  }

  private CompletableFuture<Outcome<Decision>> send(String id, byte[] body, Duration timeout) {
    return batcher != null
        ? batcher.add(id, body, timeout)
        : transport.post(
            Transport.CHECK, Map.of(), body, timeout, answer -> AnswerReader.check(answer, id));
  }

  /**
   * Tells Weir what an allowed call turned out to cost; 0 voids it. A call is settled once, and a
   * repetition is answered as the first time.
   *
   * @param verdict of the call; its position makes the call quick to find
   * @param actualCost the cost, at least 0
   * @return what has come of it; completed with a {@link WeirRequestException} if a node refuses
   *     the request as wrong
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
   * Tells Weir what an allowed call turned out to cost, as {@link #settle(Verdict, long)} does. The
   * call is found by the time in its id, if the client or a node has made it.
   */
  public CompletableFuture<Settlement> settle(String client, String id, long actualCost) {
    return settle(client, id, actualCost, Map.of());
  }

  private CompletableFuture<Settlement> settle(
      String client, String id, long actualCost, Map<String, String> headers) {
    if (actualCost < 0) {
      throw new IllegalArgumentException("actualCost must be at least 0, is " + actualCost);
    }
    String segment = URLEncoder.encode(id, StandardCharsets.UTF_8).replace("+", "%20");
    byte[] body = CallWriter.object(Map.of("client", client, "actual_cost", actualCost));
    return ask(
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

  /** Holds a slot for another lease; use the slot of the answer from then on. */
  public CompletableFuture<SlotRenewal> renew(HeldSlot slot) {
    return ask(
        settings.ofChecks(settings.deadline()),
        timeout -> ofSlot("/v1/slots/renew", slot, timeout, AnswerReader::renewal),
        (cause, detail) -> new SlotRenewal.Unavailable(detail));
  }

  /** Gives a slot back. Release a call's slot once, after its last try and its last renewal. */
  public CompletableFuture<SlotRelease> release(HeldSlot slot) {
    return ask(
        settings.ofChecks(settings.deadline()),
        timeout -> ofSlot("/v1/slots/release", slot, timeout, AnswerReader::release),
        (cause, detail) -> SlotRelease.UNAVAILABLE);
  }

  private <T> CompletableFuture<Outcome<T>> ofSlot(
      String route,
      HeldSlot slot,
      Duration timeout,
      Function<Transport.Answer, Outcome<T>> reader) {
    byte[] body = CallWriter.object(Map.of("slot", slot.token()));
    return transport.post(route, Map.of(), body, timeout, reader);
  }

  private <T> CompletableFuture<T> ask(
      Attempts.Bounds bounds,
      Function<Duration, CompletableFuture<Outcome<T>>> request,
      BiFunction<Cause, String, T> fallback) {
    untold.incrementAndGet();
    boolean hasPlace = underWay.incrementAndGet() <= settings.maxUnderWay();
    if (closed.get() || !hasPlace) {
      underWay.decrementAndGet();
      told();
      if (closed.get()) {
        throw new IllegalStateException("the client is closed");
      }
      return CompletableFuture.completedFuture(
          fallback.apply(
              Cause.OVERLOADED,
              "this client has " + settings.maxUnderWay() + " requests under way"));
    }
    CompletableFuture<T> answer;
    try {
      answer = new Attempts<>(nodes, timer, bounds, request, fallback).begin();
    } catch (Throwable notBegun) {
      underWay.decrementAndGet();
      told();
      throw notBegun;
    }
    CompletableFuture<T> handedOut =
        answer.whenComplete((value, thrown) -> underWay.decrementAndGet());
    var unused = handedOut.whenComplete((value, thrown) -> told());
    return handedOut;
  }

  private void told() {
    if (untold.decrementAndGet() == 0 && closed.get()) {
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
   * Takes no more calls, and waits until those under way are answered, at most for the longest of
   * their deadlines. May be called again.
   */
  @Override
  public void close() {
    closed.set(true);
    if (batcher != null) {
      batcher.flush();
    }
    if (untold.get() == 0) {
      drained.complete(null);
    }
    drained.join();
    timer.shutdownNow();
  }

  /** The settings of a client. Not thread-safe. */
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

    /** Sends a bearer token with each request; by default none is sent. */
    public Builder token(String value) {
      Objects.requireNonNull(value, "token");
      return token(() -> value);
    }

    /** Sends a bearer token that is asked for before each request, so that it may change. */
    public Builder token(Supplier<String> value) {
      this.token = Objects.requireNonNull(value, "token");
      return this;
    }

    /**
     * Sends the requests by a client of the caller's, which has its certificates, proxy, version of
     * HTTP and time to connect; by default by one of its own over HTTP/1.1.
     */
    public Builder http(HttpClient value) {
      this.http = Objects.requireNonNull(value, "http");
      return this;
    }

    /** Sets until when a call is decided, by a node or else by the client; 1 s by default. */
    public Builder deadline(Duration value) {
      this.deadline = value;
      return this;
    }

    /**
     * Sets how long one try of a check waits for its answer; 300 ms by default, or the deadline if
     * that is shorter. Nodes that confirm each call in Kafka ({@code WEIR_DURABILITY=acked}) need
     * more.
     */
    public Builder tryTimeout(Duration value) {
      this.tryTimeout = value;
      return this;
    }

    /** Sets until when a settlement is answered; 15 s by default, since it waits to be counted. */
    public Builder settleDeadline(Duration value) {
      this.settleDeadline = value;
      return this;
    }

    /** Sets the most tries of one request, at least 1; 3 by default. */
    public Builder maxTries(int value) {
      this.maxTries = value;
      return this;
    }

    /**
     * Puts checks that come within a short time into one request. By default each check is a
     * request of its own, which adds no wait, and whose answer has the header fields that a batch's
     * has not.
     *
     * @param linger how long the first check of a batch waits for others; zero means no batches
     * @param size most checks in a batch, 1 to 1,000
     */
    public Builder batches(Duration linger, int size) {
      this.batchLinger = linger;
      this.batchSize = size;
      return this;
    }

    /**
     * Sets the most requests that are under way at a time, at least 1; 10,000 by default. Above it
     * a check is {@link Decision.Undecided} at once, with {@link Cause#OVERLOADED}.
     */
    public Builder maxUnderWay(int value) {
      this.maxUnderWay = value;
      return this;
    }

    /**
     * Makes the client. Nothing is connected to before the first check.
     *
     * @throws IllegalArgumentException if the settings are not valid together; it names the setting
     */
    public WeirClient build() {
      Duration aTry = tryTimeout;
      return new WeirClient(
          new Settings(
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
