// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.weir.ingest.gate.CallTrace;
import io.weir.ingest.trace.RequestTrace;
import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import java.nio.ByteBuffer;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.eclipse.jetty.http.HttpException;
import org.eclipse.jetty.http.HttpField;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpStatus;
import org.eclipse.jetty.http.MimeTypes;
import org.eclipse.jetty.http.PreEncodedHttpField;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.BufferUtil;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.Fields;
import org.eclipse.jetty.util.IteratingCallback;
import org.eclipse.jetty.util.NanoTime;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A request with its complete body, and the response. Used by routes that are served without the
 * servlet. The route responds once, with {@link #write} or {@link #refuse}, immediately or {@link
 * #answerLater later}. These methods do not wait until the caller reads the response. An exchange
 * may be passed between threads; only one thread may use the exchange at a time.
 */
final class Exchange {
  private static final HttpField JSON =
      new PreEncodedHttpField(HttpHeader.CONTENT_TYPE, MimeTypes.Type.APPLICATION_JSON.asString());
  private static final HttpField PROBLEM =
      new PreEncodedHttpField(HttpHeader.CONTENT_TYPE, Problem.MEDIA_TYPE);

  /** Retry time of a 503 response, because Redis and Kafka usually recover within seconds. */
  static final String RETRY_AFTER_UNAVAILABLE_SECONDS = "1";

  private static final Logger LOG = LoggerFactory.getLogger(Exchange.class);

  private static final int PART_BYTES = 32 * 1024;

  private final Request request;
  private final Response response;
  private final Callback callback;
  private final byte[] body;
  private final Answered answered;
  private volatile long progressNanos = NanoTime.now();
  private @Nullable RequestTrace trace;
  private @Nullable AuthzDialect gateway;

  /**
   * Called when the response of an exchange is complete. The response may be unwritten at this
   * time.
   */
  interface Answered {
    /**
     * Called once, even if the response has already been written.
     *
     * @param bytes length of the response's body; 0 for a problem document, which has only some
     *     hundred bytes
     * @param progressNanos returns the time at which the connection last accepted a part of the
     *     body, as {@link System#nanoTime}
     */
    void answered(long bytes, LongSupplier progressNanos);
  }

  /**
   * Creates an unanswered exchange.
   *
   * @param callback completed when the server has written the response or cannot write it
   * @param body the complete body of the request; not copied
   */
  Exchange(Request request, Response response, Callback callback, byte[] body, Answered answered) {
    this.answered = answered;
    this.request = request;
    this.response = response;
    this.callback = callback;
    this.body = body;
  }

  Request request() {
    return request;
  }

  byte[] body() {
    return body;
  }

  /**
   * Sets the trace of the request. The response ends the trace.
   *
   * @param ofRequest null if the request is not traced
   */
  void trace(@Nullable RequestTrace ofRequest) {
    trace = ofRequest;
  }

  /** Returns the trace of the request; null if it is not traced. */
  @Nullable RequestTrace trace() {
    return trace;
  }

  /** Returns the trace of all calls of the request; null if it is not traced. Called once. */
  @Nullable CallTrace traceOfCalls() {
    return trace == null ? null : trace.ofAllCalls();
  }

  private void endTrace(int status) {
    if (trace != null) {
      trace.endHttp(status);
    }
  }

  /** Returns the parameters of the query. */
  Fields parameters() throws JsonBody.Invalid {
    if (request.getHttpURI().getQuery() == null) {
      return Fields.EMPTY;
    }
    try {
      return Request.extractQueryParameters(request);
    } catch (IllegalStateException
        | IllegalArgumentException
        | HttpException.RuntimeException bad) {
      throw new JsonBody.Invalid(Problem.malformed(400, "the query could not be read"));
    }
  }

  /** Refuses a query that has parameters. */
  void requireNoParameters() throws JsonBody.Invalid {
    for (Fields.Field parameter : parameters()) {
      throw invalidParameter(
          parameter.getName(), "is unknown, because this route has no parameters");
    }
  }

  static JsonBody.Invalid invalidParameter(String parameter, String rule) {
    return new JsonBody.Invalid(Problem.ofField(ProblemReason.INVALID_PARAMETER, parameter, rule));
  }

  /** Returns the header fields of the response. */
  HttpFields.Mutable fields() {
    return response.getHeaders();
  }

  /** Responds with a JSON body. With any status except 200, the body is a problem document. */
  void write(int status, byte[] json) {
    write(status, status == HttpStatus.OK_200 ? JSON : PROBLEM, json);
  }

  /** Responds with a JSON body that is not a problem document, for any status. */
  void writeJson(int status, byte[] json) {
    write(status, JSON, json);
  }

  private void write(int status, HttpField type, byte[] json) {
    response.setStatus(status);
    fields().put(type);
    fields().put(HttpHeader.CONTENT_LENGTH, json.length);
    if (json.length <= PART_BYTES) {
      response.write(true, ByteBuffer.wrap(json), callback);
    } else {
      new Parts(json).iterate();
    }
    answered.answered(json.length, () -> progressNanos);
    endTrace(status);
  }

  /** Responds with a status and header fields only. */
  void writeEmpty(int status) {
    response.setStatus(status);
    if (status != HttpStatus.NO_CONTENT_204) { // a 204 must not have a length (RFC 9110 §8.6)
      fields().put(HttpHeader.CONTENT_LENGTH, 0);
    }
    response.write(true, BufferUtil.EMPTY_BUFFER, callback);
    answered.answered(0, () -> progressNanos);
    endTrace(status);
  }

  /** Writes a large body part by part, to measure how fast the caller reads it. */
  private final class Parts extends IteratingCallback {
    private final byte[] json;
    private int passed;

    Parts(byte[] json) {
      this.json = json;
    }

    @Override
    protected Action process() {
      progressNanos = NanoTime.now();
      if (passed == json.length) {
        return Action.SUCCEEDED;
      }
      int length = Math.min(PART_BYTES, json.length - passed);
      ByteBuffer part = ByteBuffer.wrap(json, passed, length);
      passed += length;
      response.write(passed == json.length, part, this);
      return Action.SCHEDULED;
    }

    @Override
    public InvocationType getInvocationType() {
      return InvocationType.NON_BLOCKING;
    }

    @Override
    protected void onCompleteSuccess() {
      callback.succeeded();
    }

    @Override
    protected void onCompleteFailure(Throwable failure) {
      callback.failed(failure);
    }
  }

  /** Makes {@link #refuse} respond in the form that gateways of the given dialect accept. */
  void refuseTo(AuthzDialect dialect) {
    gateway = dialect;
  }

  /** Responds with a problem. If a 503 response has no Retry-After field, adds this field. */
  void refuse(Problem problem) {
    if (gateway != null && gateway.knowsForbiddenOnly()) {
      ProblemWriter.writeWithoutBody(response, callback, problem);
    } else {
      if (gateway != null) {
        fields().put(AuthzRoute.REASON, problem.reason().word());
      }
      ProblemWriter.write(response, callback, problem);
    }
    answered.answered(0, () -> progressNanos);
    endTrace(problem.status());
  }

  /** Logs an unexpected exception, and responds with an internal error. */
  void fail(@Nullable Throwable fault) {
    LOG.error("request failed path={}", request.getHttpURI().getPath(), fault);
    refuse(ProblemWriter.FAILED);
  }

  /**
   * Responds when a result is available. The thread that reads the connection writes the response,
   * because this wakes up no other thread. If the result or the response fails, calls {@link
   * #fail}.
   *
   * @param answering responds with the result; must not block
   */
  <T> void answerLater(CompletableFuture<T> pending, Consumer<? super T> answering) {
    var unused =
        pending.whenComplete(
            (result, failed) ->
                AnsweringConnector.execute(request, () -> answer(result, failed, answering)));
  }

  private <T> void answer(
      @Nullable T result, @Nullable Throwable failed, Consumer<? super T> answering) {
    if (result == null) {
      fail(failed);
      return;
    }
    try {
      answering.accept(result);
    } catch (RuntimeException | Error fault) {
      fail(fault);
    }
  }
}
