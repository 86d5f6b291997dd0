// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import io.weir.topics.problem.Routes;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.eclipse.jetty.http.DateGenerator;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpStatus;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.handler.ErrorHandler;
import org.eclipse.jetty.util.Callback;

/**
 * A handler that sends a problem document if a request reaches no route, for example because a
 * header is too large. Never blocks. Thread-safe.
 */
final class RefusedRequests implements Request.Handler {
  @Override
  public InvocationType getInvocationType() {
    return InvocationType.NON_BLOCKING;
  }

  /**
   * Sends the response to a request that the server has refused. The server has set the status and
   * the reason.
   */
  @Override
  public boolean handle(Request request, Response response, Callback callback) {
    int status = response.getStatus();
    Object reason = request.getAttribute(ErrorHandler.ERROR_MESSAGE);
    Problem problem =
        switch (status) {
          case HttpStatus.NOT_FOUND_404 ->
              Routes.REPORTS_API.missing(request.getHttpURI().getPath());
          case HttpStatus.INTERNAL_SERVER_ERROR_500 ->
              Problem.of(ProblemReason.INTERNAL_ERROR, "see the aggregator's log");
          default ->
              Problem.malformed(
                  status, reason == null ? HttpStatus.getMessage(status) : reason.toString());
        };
    byte[] body = problem.toJson();
    response.setStatus(problem.status());
    response.getHeaders().put(HttpHeader.CACHE_CONTROL, "no-store");
    response.getHeaders().put(HttpHeader.CONTENT_TYPE, Problem.MEDIA_TYPE);
    response.getHeaders().put(HttpHeader.CONTENT_LENGTH, body.length);
    response.write(true, ByteBuffer.wrap(body), callback);
    return true;
  }

  /** Returns a complete HTTP/1.1 response to a request that the server has not read. */
  static byte[] message(Problem problem) {
    byte[] body = problem.toJson();
    String head =
        String.join(
            "\r\n",
            "HTTP/1.1 " + problem.status() + " " + HttpStatus.getMessage(problem.status()),
            "Date: " + DateGenerator.formatDate(System.currentTimeMillis()),
            "Cache-Control: no-store",
            "Content-Type: " + Problem.MEDIA_TYPE,
            "Content-Length: " + body.length,
            "Connection: close",
            "",
            "");
    return (head + new String(body, StandardCharsets.UTF_8)).getBytes(StandardCharsets.UTF_8);
  }
}
