// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.weir.ingest.http.HttpStatistics.Shed;
import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadLocalRandom;
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
 * The handler in front of the routes. Reads the body of a request without occupying a thread, and
 * admits or sheds the call. Then assigns a thread to the call, if the route needs a thread.
 * Requests for health and metrics do not wait in the queue of the calls. Health requests are always
 * admitted, because they cost almost nothing.
 *
 * <p>This handler runs on the thread that reads the connections, and never blocks that thread
 * (Jetty's {@code NON_BLOCKING}). The handler sheds a call before the call waits. Shedding a call
 * costs a fraction of serving the call. A call's wait for a thread begins here; this class can
 * therefore measure that wait.
 */
final class AdmissionHandler extends Handler.Wrapper {
  /** The request attribute that holds the body of a request for the servlet. */
  static final String BODY = "io.weir.body";

  static final Set<String> HEALTH = Set.of("/health/live", "/health/ready");

  static final String METRICS = "/metrics";

  /**
   * Maximum size of a body that the connection's thread processes. Larger bodies get a thread,
   * because parsing such a body may take the time of many calls. Bodies of calls have some hundred
   * bytes.
   */
  private static final int MAX_BYTES_WITHOUT_THREAD = 8 * 1024;

  /**
   * Maximum retry time of a shed call in seconds. Retry times are random; otherwise shed callers
   * would return at the same time.
   */
  private static final int MAX_RETRY_AFTER_SECONDS = 3;

  /**
   * When Weir sheds the 64th, 128th, 192nd … request of a connection, Weir closes the connection. A
   * pipelining sender therefore cannot occupy the reading thread, and a load balancer can choose
   * another node.
   */
  private static final long REQUESTS_PER_CONNECTION = 64;

  /**
   * Header fields that are hidden from the servlet. {@code X-HTTP-Method-Override} changes the
   * method that the servlet processes; a link in a web page could then settle a call. The other
   * fields would open a WebSocket, which no route supports.
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

  /**
   * Creates the handler in front of the routes.
   *
   * @param threads runs the calls that may block; must not be the threads that read the connections
   * @param direct serves some routes without the servlet
   */
  AdmissionHandler(
      Executor threads,
      DirectRoutes direct,
      Admission admission,
      IncompleteBodies incomplete,
      UnreadAnswers unread,
      HttpStatistics statistics) {
    this.threads = threads;
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

  private static String detail(Shed reason) {
    return switch (reason) {
      case CALLS_UNDER_WAY -> "the node is at its limit of concurrent calls" + NOTHING_DONE;
      case QUEUE_DELAY -> "the node is overloaded: calls wait too long for a thread" + NOTHING_DONE;
      case BODIES -> "the node is at its limit of incomplete request bodies" + NOTHING_DONE;
      case BATCHES -> "the node is at its limit of concurrent batches" + NOTHING_DONE;
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
      new Visit(request, response, callback, null).scrape();
    } else {
      DirectRoutes.Route route = direct.find(request);
      int maxBytes =
          route != null && route.isBatch() ? RequestBody.MAX_BATCH_BYTES : RequestBody.MAX_BYTES;
      Visit visit = new Visit(request, response, callback, route);
      new BodyReader(request, maxBytes, incomplete, visit).run();
    }
    return true;
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
      // the server would end the request without calling its callback, and the request's place
      // would stay occupied
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

  /** The stages of a request. */
  private enum Stage {
    /** The request is in progress. An admitted request occupies a place. */
    IN_PROGRESS,
    /** The response is complete but not written. The request's place is free. */
    UNREAD,
    /** The server has written the response, or cannot write it. */
    WRITTEN
  }

  /**
   * A request from its arrival to the end of its response. An admitted request occupies a place of
   * the {@link Admission} until its response is complete. A complete response is {@link
   * UnreadAnswers unread} until the server can write it. The server cannot write a response before
   * the caller has read earlier responses.
   */
  private final class Visit extends Callback.Nested
      implements BodyReader.Ended, Exchange.Answered, UnreadAnswers.Answer {
    private final Request request;
    private final Response response;
    private final DirectRoutes.@Nullable Route route;
    private final EndPoint connection;
    private final AtomicReference<Stage> stage = new AtomicReference<>(Stage.IN_PROGRESS);
    private Admission.Kind kind = Admission.Kind.CALL;
    private long admittedNanos;
    private volatile LongSupplier progress = () -> 0;
    private volatile long bytes;

    /**
     * Creates a visit for a request that is not admitted yet.
     *
     * @param callback completed when the server has written the response or cannot write it
     * @param route the route of the request; null if the servlet serves the request
     */
    Visit(
        Request request, Response response, Callback callback, DirectRoutes.@Nullable Route route) {
      super(callback);
      this.request = request;
      this.response = response;
      this.route = route;
      this.connection = request.getConnectionMetaData().getConnection().getEndPoint();
    }

    /** Serves the metrics, which need no body. */
    void scrape() {
      if (isAdmitted(Admission.Kind.SCRAPE)) {
        execute(response, this, () -> route(request, response, this, this::answerIsComplete));
      }
    }

    @Override
    public void whole(byte[] body) {
      if (!isAdmitted(kind(body))) {
        return;
      }
      if (route == null) {
        queue(
            () -> {
              request.setAttribute(BODY, body);
              route(request, response, this, this::answerIsComplete);
            });
        return;
      }
      Exchange exchange = new Exchange(request, response, this, body, this);
      if (kind == Admission.Kind.CALL) {
        route.serve(exchange);
      } else {
        queue(() -> route.serve(exchange));
      }
    }

    private Admission.Kind kind(byte[] body) {
      if (route != null && route.isBatch()) {
        return Admission.Kind.BATCH;
      }
      return route == null || body.length > MAX_BYTES_WITHOUT_THREAD
          ? Admission.Kind.CALL_ON_THREAD
          : Admission.Kind.CALL;
    }

    /** Admits the request and returns true, or sheds the request and returns false. */
    private boolean isAdmitted(Admission.Kind asked) {
      Shed refusal = admission.tryAdmit(asked);
      if (refusal != null) {
        shed(refusal);
        return false;
      }
      kind = asked;
      admittedNanos = System.nanoTime();
      return true;
    }

    /** Queues the admitted call for a thread. */
    private void queue(Runnable work) {
      long queuedNanos = admission.queue();
      execute(
          response,
          this,
          () -> {
            admission.begin(queuedNanos);
            work.run();
          });
    }

    private void answerIsComplete(long length) {
      long now = NanoTime.now();
      answered(length, () -> now);
    }

    /**
     * Frees the request's place. At this time the server may be writing the response, or may have
     * written it.
     */
    @Override
    public void answered(long length, LongSupplier parts) {
      if (stage.get() != Stage.IN_PROGRESS) {
        return;
      }
      bytes = length;
      progress = parts;
      unread.begin(this);
      if (stage.compareAndSet(Stage.IN_PROGRESS, Stage.UNREAD)) {
        admission.end(kind, admittedNanos);
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

    /** Ends the visit when the server has written the response or cannot write it. */
    @Override
    public void completed() {
      switch (stage.getAndSet(Stage.WRITTEN)) {
        case IN_PROGRESS -> admission.end(kind, admittedNanos);
        case UNREAD -> unread.end(this);
        case WRITTEN -> {}
      }
      if (kind != Admission.Kind.SCRAPE) {
        statistics.answered(NanoTime.since(request.getHeadersNanoTime()));
      }
    }

    private void shed(Shed reason) {
      statistics.shed(reason).increment();
      response.getHeaders().put(HttpHeader.RETRY_AFTER, retryAfterSeconds());
      long requests = request.getConnectionMetaData().getConnection().getMessagesIn();
      if (requests % REQUESTS_PER_CONNECTION == 0) {
        response.getHeaders().put(HttpHeader.CONNECTION, HttpHeaderValue.CLOSE);
      }
      Problem problem = Problem.of(ProblemReason.OVERLOADED, detail(reason));
      if (AuthzDialect.readsNoBodies(request.getHttpURI().getPath())) {
        // after a response with a body, nginx would close the connection and open a new connection
        // to the overloaded node
        ProblemWriter.writeWithoutBody(response, getCallback(), problem);
      } else {
        ProblemWriter.write(response, getCallback(), problem);
      }
    }

    @Override
    public void refused(Problem problem, boolean rest) {
      if (rest) {
        ProblemWriter.writeAndClose(response, getCallback(), problem);
      } else {
        ProblemWriter.write(response, getCallback(), problem);
      }
    }

    @Override
    public void noMemory() {
      response.getHeaders().put(HttpHeader.CONNECTION, HttpHeaderValue.CLOSE);
      shed(Shed.BODIES);
    }

    @Override
    public void timedOut(Problem problem) {
      statistics.timedOut(HttpStatistics.Part.BODY).increment();
      ProblemWriter.writeAndClose(response, getCallback(), problem);
    }
  }
}
