// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpHeaderValue;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.NanoTime;
import org.jspecify.annotations.Nullable;

/**
 * The handler in front of the routes. It reads the body of a request without occupying a thread,
 * and admits or sheds the call. Then it assigns a thread to the call, if the route needs one.
 * Requests for health and metrics do not queue with the calls. Health requests are always admitted,
 * because they cost almost nothing. Metrics requests have a separate bound, so that scrapes cannot
 * displace calls.
 *
 * <p>It runs on the thread that reads the connections and never blocks it (Jetty's {@code
 * NON_BLOCKING}). So a call is shed before it waits, which costs a fraction of serving it. The wait
 * for a thread begins here, so this class can measure it.
 */
final class AdmissionHandler extends Handler.Wrapper {
  /** The request attribute that holds the body of a request for the servlet. */
  static final String BODY = "io.weir.body";

  private static final Set<String> HEALTH = Set.of("/health/live", "/health/ready");

  static final String METRICS = "/metrics";

  /**
   * Maximum number of concurrent scrapes. It is low, because a scrape costs as much as many calls.
   */
  private static final int MAX_SCRAPES = 4;

  /**
   * Maximum size of a body that the connection's thread processes. Larger bodies get a thread,
   * because parsing them may take as long as many calls. Bodies of calls have some hundred bytes.
   */
  private static final int MAX_BYTES_WITHOUT_THREAD = 8 * 1024;

  /** Maximum number of concurrent batches of checks; each body may have 1 MiB. */
  private static final int MAX_BATCHES = 64;

  /**
   * Maximum retry time of a shed call in seconds. The retry times are random, so that callers do
   * not return at the same time.
   */
  private static final int MAX_RETRY_AFTER_SECONDS = 3;

  /**
   * Weir closes the connection of a shed request whose number on the connection is a multiple of
   * this. So a pipelining sender cannot occupy the reading thread, and a load balancer may choose
   * another node.
   */
  private static final long REQUESTS_PER_CONNECTION = 64;

  /**
   * Header fields that are hidden from the servlet. With the first field, the servlet would process
   * a request as if it had another method, so that a link could settle a call. With the other
   * fields, the servlet would open a WebSocket, which no route supports.
   */
  private static final Set<String> HIDDEN =
      Set.of("X-HTTP-Method-Override", "Upgrade", "Sec-WebSocket-Key", "Sec-WebSocket-Version");

  private static final String NOTHING_DONE = "; the call was neither decided nor recorded";

  private final Executor threads;
  private final DirectRoutes direct;
  private final Admission admission;
  private final IncompleteBodies incomplete;
  private final HttpStatistics statistics;
  private final UnreadAnswers unread;
  private final AtomicInteger scrapes = new AtomicInteger();
  private final AtomicInteger batches = new AtomicInteger();
  private final AtomicInteger onThreads = new AtomicInteger();
  private final int maxOnThreads;

  /**
   * Creates the handler in front of the routes.
   *
   * @param threads runs the calls that may block; must not be the threads that read the connections
   * @param maxOnThreads maximum number of calls in progress that occupy a thread
   * @param direct serves some routes without the servlet
   */
  AdmissionHandler(
      Executor threads,
      int maxOnThreads,
      DirectRoutes direct,
      Admission admission,
      IncompleteBodies incomplete,
      UnreadAnswers unread,
      HttpStatistics statistics) {
    this.threads = threads;
    this.maxOnThreads = maxOnThreads;
    this.direct = direct;
    this.admission = admission;
    this.incomplete = incomplete;
    this.statistics = statistics;
    this.unread = unread;
  }

  /** Returns a random number of seconds after which a shed caller may retry. */
  static String retryAfterSeconds() {
    return Integer.toString(1 + ThreadLocalRandom.current().nextInt(MAX_RETRY_AFTER_SECONDS));
  }

  private static String detail(HttpStatistics.Shed reason) {
    return switch (reason) {
      case CALLS_UNDER_WAY -> "the node is at its limit of concurrent calls";
      case QUEUE_DELAY -> "the node is overloaded: calls wait too long for a thread";
      case BODIES -> "the node is at its limit of incomplete request bodies";
      case BATCHES -> "the node is at its limit of concurrent batches";
      case SCRAPES -> "the node is at its limit of concurrent scrapes";
    };
  }

  @Override
  public InvocationType getInvocationType() {
    return InvocationType.NON_BLOCKING;
  }

  @Override
  public boolean handle(Request request, Response response, Callback callback) {
    response.getHeaders().put(ProblemWriter.NOT_STORED);
    String path = request.getHttpURI().getPath();
    if (HEALTH.contains(path)) {
      execute(response, callback, () -> route(request, response, callback, bytes -> {}));
    } else if (METRICS.equals(path)) {
      scrape(request, response, callback);
    } else {
      Visitor visitor = new Visitor(request, response, callback, direct.find(request));
      int maxBytes = visitor.batch ? RequestBody.MAX_BATCH_BYTES : RequestBody.MAX_BYTES;
      new BodyReader(request, maxBytes, incomplete, visitor).run();
    }
    return true;
  }

  private void scrape(Request request, Response response, Callback callback) {
    if (scrapes.incrementAndGet() > MAX_SCRAPES) {
      scrapes.decrementAndGet();
      statistics.shed(HttpStatistics.Shed.SCRAPES).increment();
      response.getHeaders().put(HttpHeader.RETRY_AFTER, retryAfterSeconds());
      ProblemWriter.write(
          response,
          callback,
          Problem.of(ProblemReason.OVERLOADED, detail(HttpStatistics.Shed.SCRAPES)));
      return;
    }
    Place place = new Place(request, scrapes::decrementAndGet);
    Callback ending = Callback.from(callback, place::end);
    execute(response, ending, () -> route(request, response, ending, place::answerIsComplete));
  }

  private void execute(Response response, Callback callback, Runnable task) {
    try {
      threads.execute(task);
    } catch (RejectedExecutionException stopping) {
      ProblemWriter.writeAndClose(
          response,
          callback,
          Problem.of(ProblemReason.STOPPING, "the node is stopping" + NOTHING_DONE));
    } catch (RuntimeException | Error failed) {
      // the server would end the request without its callback, so that the request's place would
      // stay occupied
      callback.failed(failed);
    }
  }

  /**
   * Passes the request to the servlet.
   *
   * @param complete receives the length of the response when the response is complete but not yet
   *     written
   */
  private void route(Request request, Response response, Callback callback, LongConsumer complete) {
    WholeAnswer answer = new WholeAnswer(request, response, callback, complete);
    try {
      if (!super.handle(withoutHidden(request), answer, answer)) {
        Response.writeError(request, answer, answer, 404);
      }
    } catch (Exception | Error failed) {
      Response.writeError(request, answer, answer, failed);
    }
  }

  private static Request withoutHidden(Request request) {
    HttpFields fields = request.getHeaders();
    if (HIDDEN.stream().noneMatch(fields::contains)) {
      return request;
    }
    HttpFields.Mutable others = HttpFields.build(fields);
    HIDDEN.forEach(others::remove);
    HttpFields shown = others.asImmutable();
    return new Request.Wrapper(request) {
      @Override
      public HttpFields getHeaders() {
        return shown;
      }
    };
  }

  /**
   * The place that a request occupies until its response is complete. A complete response is {@link
   * UnreadAnswers unread} while it cannot be written, because the caller has not read earlier
   * responses.
   */
  private final class Place implements UnreadAnswers.Answer {
    private final EndPoint connection;
    private final Runnable release;
    private volatile LongSupplier progress = () -> 0;
    private volatile long bytes;
    private final AtomicReference<Stage> stage = new AtomicReference<>(Stage.HELD);

    Place(Request request, Runnable release) {
      this.connection = request.getConnectionMetaData().getConnection().getEndPoint();
      this.release = release;
    }

    void answerIsComplete(long length) {
      long now = NanoTime.now();
      answerIsComplete(length, () -> now);
    }

    /**
     * Frees the place. The server may already have received or written the response.
     *
     * @param parts returns the time at which the connection last accepted a part, as {@link
     *     System#nanoTime}
     */
    void answerIsComplete(long length, LongSupplier parts) {
      if (stage.get() != Stage.HELD) {
        return;
      }
      bytes = length;
      progress = parts;
      unread.begin(this);
      if (stage.compareAndSet(Stage.HELD, Stage.UNREAD)) {
        release.run();
      } else {
        unread.end(this);
      }
    }

    @Override
    public long bytes() {
      return bytes;
    }

    @Override
    public long progressNanos() {
      return progress.getAsLong();
    }

    @Override
    public void close() {
      if (stage.get() != Stage.WRITTEN) {
        connection.close();
      }
    }

    void end() {
      switch (stage.getAndSet(Stage.WRITTEN)) {
        case HELD -> release.run();
        case UNREAD -> unread.end(this);
        case WRITTEN -> {}
      }
    }
  }

  /** The stages of a request's place. */
  private enum Stage {
    /** The request is in progress. */
    HELD,
    /** The response is complete but not written; the place is free. */
    UNREAD,
    /** The response was written, or cannot be written. */
    WRITTEN
  }

  /** A request before its admission. */
  private final class Visitor implements BodyReader.Ended {
    private final Request request;
    private final Response response;
    private final Callback callback;
    private final DirectRoutes.@Nullable Route route;
    private final boolean batch;

    /**
     * Creates a visitor.
     *
     * @param route the route of the request; null if the servlet serves the request
     */
    Visitor(
        Request request,
        Response response,
        Callback callback,
        DirectRoutes.@Nullable Route route) {
      this.request = request;
      this.response = response;
      this.callback = callback;
      this.route = route;
      this.batch = route != null && route.isBatch();
    }

    @Override
    public void whole(byte[] body) {
      boolean onThread = route == null || batch || body.length > MAX_BYTES_WITHOUT_THREAD;
      HttpStatistics.Shed refusal = admit(onThread);
      if (refusal != null) {
        shed(refusal);
        return;
      }
      long admittedNanos = System.nanoTime();
      Place place = new Place(request, () -> leave(onThread, admittedNanos));
      Callback ending = Callback.from(callback, () -> answered(place));
      if (route == null) {
        queue(
            ending,
            () -> {
              request.setAttribute(BODY, body);
              route(request, response, ending, place::answerIsComplete);
            });
        return;
      }
      Exchange exchange = new Exchange(request, response, ending, body, place::answerIsComplete);
      if (onThread) {
        queue(ending, () -> route.serve(exchange));
      } else {
        route.serve(exchange);
      }
    }

    /** Queues the admitted call for a thread. */
    private void queue(Callback ending, Runnable work) {
      long queuedNanos = admission.queue();
      execute(
          response,
          ending,
          () -> {
            admission.begin(queuedNanos);
            work.run();
          });
    }

    /** Returns the reason why the call or batch is shed; null if it is admitted. */
    private HttpStatistics.@Nullable Shed admit(boolean onThread) {
      if (batch && batches.incrementAndGet() > MAX_BATCHES) {
        batches.decrementAndGet();
        return HttpStatistics.Shed.BATCHES;
      }
      HttpStatistics.Shed refusal = askFor(onThread);
      if (batch && refusal != null) {
        batches.decrementAndGet();
      }
      return refusal;
    }

    private HttpStatistics.@Nullable Shed askFor(boolean onThread) {
      if (!onThread) {
        return admission.tryAdmitMeasured();
      }
      HttpStatistics.Shed refusal =
          onThreads.incrementAndGet() > maxOnThreads
              ? HttpStatistics.Shed.CALLS_UNDER_WAY
              : admission.tryAdmit();
      if (refusal != null) {
        onThreads.decrementAndGet();
      }
      return refusal;
    }

    private void leave(boolean onThread, long admittedNanos) {
      if (onThread) {
        // the durations of batches and settlements vary too much for the adaptive bound
        admission.end();
        onThreads.decrementAndGet();
      } else {
        admission.end(admittedNanos);
      }
      if (batch) {
        batches.decrementAndGet();
      }
    }

    private void answered(Place place) {
      place.end();
      statistics.answered(NanoTime.since(request.getHeadersNanoTime()));
    }

    private void shed(HttpStatistics.Shed reason) {
      statistics.shed(reason).increment();
      response.getHeaders().put(HttpHeader.RETRY_AFTER, retryAfterSeconds());
      long requests = request.getConnectionMetaData().getConnection().getMessagesIn();
      if (requests % REQUESTS_PER_CONNECTION == 0) {
        response.getHeaders().put(HttpHeader.CONNECTION, HttpHeaderValue.CLOSE);
      }
      Problem problem = Problem.of(ProblemReason.OVERLOADED, detail(reason) + NOTHING_DONE);
      if (AuthzDialect.readsNoBodies(request.getHttpURI().getPath())) {
        // after a body, nginx would close the connection and open another one to the overloaded
        // node
        ProblemWriter.writeWithoutBody(response, callback, problem);
      } else {
        ProblemWriter.write(response, callback, problem);
      }
    }

    @Override
    public void refused(Problem problem, boolean rest) {
      if (rest) {
        ProblemWriter.writeAndClose(response, callback, problem);
      } else {
        ProblemWriter.write(response, callback, problem);
      }
    }

    @Override
    public void noMemory() {
      response.getHeaders().put(HttpHeader.CONNECTION, HttpHeaderValue.CLOSE);
      shed(HttpStatistics.Shed.BODIES);
    }

    @Override
    public void timedOut(Problem problem) {
      statistics.timedOut(HttpStatistics.Part.BODY).increment();
      ProblemWriter.writeAndClose(response, callback, problem);
    }
  }
}
