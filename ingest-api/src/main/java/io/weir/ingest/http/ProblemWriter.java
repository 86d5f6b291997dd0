// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import io.weir.topics.problem.Routes;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.eclipse.jetty.http.DateGenerator;
import org.eclipse.jetty.http.HttpField;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpHeaderValue;
import org.eclipse.jetty.http.HttpStatus;
import org.eclipse.jetty.http.PreEncodedHttpField;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.handler.ErrorHandler;
import org.eclipse.jetty.util.BufferUtil;
import org.eclipse.jetty.util.Callback;

/**
 * Writes problem documents for requests that reach no route: requests that were not admitted, and
 * requests that the server refused. The server refuses malformed requests, and headers that are too
 * large. Never blocks.
 */
final class ProblemWriter implements Request.Handler {
  /**
   * A field of every response. HTTP caches must not store a response, because a response is valid
   * only for a moment.
   */
  static final HttpField NOT_STORED = new PreEncodedHttpField(HttpHeader.CACHE_CONTROL, "no-store");

  /** The problem of a new request while the node is stopping. */
  static final Problem STOPPING = Problem.of(ProblemReason.STOPPING, "the node is stopping");

  /** The problem of a request that failed unexpectedly. */
  static final Problem FAILED = Problem.of(ProblemReason.INTERNAL_ERROR, "see the node's log");

  @Override
  public InvocationType getInvocationType() {
    return InvocationType.NON_BLOCKING;
  }

  /**
   * Responds to a request that the server refused, with the status and the reason that the server
   * has set.
   */
  @Override
  public boolean handle(Request request, Response response, Callback callback) {
    int status = response.getStatus();
    Object reason = request.getAttribute(ErrorHandler.ERROR_MESSAGE);
    if (status == HttpStatus.INTERNAL_SERVER_ERROR_500
        && request.getConnectionMetaData().getConnector().getServer().isStopping()) {
      // the request arrived while the node was stopping
      writeAndClose(response, callback, STOPPING);
      return true;
    }
    Problem problem =
        status == HttpStatus.NOT_FOUND_404
            ? Routes.CHECK_API.missing(request.getHttpURI().getPath())
            : status == HttpStatus.INTERNAL_SERVER_ERROR_500
                ? FAILED
                : Problem.malformed(status, reason == null ? title(status) : reason.toString());
    write(response, callback, problem);
    return true;
  }

  private static String title(int status) {
    return HttpStatus.getMessage(status);
  }

  /** Writes the response and closes the connection. */
  static void writeAndClose(Response response, Callback callback, Problem problem) {
    response.getHeaders().put(HttpHeader.CONNECTION, HttpHeaderValue.CLOSE);
    write(response, callback, problem);
  }

  /** Writes the response. If a 503 response has no Retry-After field, adds this field. */
  static void write(Response response, Callback callback, Problem problem) {
    byte[] body = problem.toJson();
    writeStatus(response, problem);
    response.getHeaders().put(HttpHeader.CONTENT_TYPE, Problem.MEDIA_TYPE);
    response.getHeaders().put(HttpHeader.CONTENT_LENGTH, body.length);
    response.write(true, ByteBuffer.wrap(body), callback);
  }

  /**
   * Writes the response like {@link #write}, but without a body and with the reason in a header
   * field.
   */
  static void writeWithoutBody(Response response, Callback callback, Problem problem) {
    writeStatus(response, problem);
    response.getHeaders().put(AuthzRoute.REASON, problem.reason().word());
    response.getHeaders().put(AuthzRoute.STATUS, problem.status());
    response.getHeaders().put(HttpHeader.CONTENT_LENGTH, 0);
    response.write(true, BufferUtil.EMPTY_BUFFER, callback);
  }

  private static void writeStatus(Response response, Problem problem) {
    if (problem.status() == HttpStatus.SERVICE_UNAVAILABLE_503
        && !response.getHeaders().contains(HttpHeader.RETRY_AFTER)) {
      response.getHeaders().put(HttpHeader.RETRY_AFTER, Exchange.RETRY_AFTER_UNAVAILABLE_SECONDS);
    }
    response.setStatus(problem.status());
    response.getHeaders().put(NOT_STORED);
  }

  /**
   * Returns the bytes of a complete HTTP/1.1 response. Used for a request that the server did not
   * read.
   */
  static byte[] message(Problem problem) {
    byte[] body = problem.toJson();
    String head =
        String.join(
            "\r\n",
            "HTTP/1.1 " + problem.status() + " " + title(problem.status()),
            "Date: " + DateGenerator.formatDate(System.currentTimeMillis()),
            NOT_STORED.toString(),
            "Content-Type: " + Problem.MEDIA_TYPE,
            "Content-Length: " + body.length,
            "Connection: close",
            "",
            "");
    return (head + new String(body, StandardCharsets.UTF_8)).getBytes(StandardCharsets.UTF_8);
  }
}
