// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.access.port.SlowHeads;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.thread.Scheduler;

/**
 * A handler that prepares each request for the routes. It removes the headers of a WebSocket
 * upgrade, limits the time of a request with a body, and attaches the connection for {@link
 * ReportCaller}. Thread-safe.
 */
final class RequestPreparation extends Handler.Wrapper {
  private static final Set<String> UPGRADE_HEADERS =
      Set.of("Upgrade", "Sec-WebSocket-Key", "Sec-WebSocket-Version");

  @Override
  public boolean handle(Request request, Response response, Callback callback) throws Exception {
    ReportCaller.attachConnection(request, response);
    return super.handle(withoutUpgrade(request), response, withDeadline(request, callback));
  }

  /**
   * Removes the headers of a WebSocket upgrade, because this API does not support WebSocket. If a
   * request had these headers, the servlet would create a session and respond without a problem
   * document.
   */
  private static Request withoutUpgrade(Request request) {
    HttpFields fields = request.getHeaders();
    if (UPGRADE_HEADERS.stream().noneMatch(fields::contains)) {
      return request;
    }
    HttpFields.Mutable others = HttpFields.build(fields);
    UPGRADE_HEADERS.forEach(others::remove);
    HttpFields shown = others.asImmutable();
    return new Request.Wrapper(request) {
      @Override
      public HttpFields getHeaders() {
        return shown;
      }
    };
  }

  /**
   * Closes the connection if the response to a request with a body does not follow within {@link
   * SlowHeads#READ_LIMIT}. The response normally follows immediately after the arrival of the body.
   */
  private static Callback withDeadline(Request request, Callback callback) {
    if (request.getLength() <= 0 && !request.getHeaders().contains(HttpHeader.TRANSFER_ENCODING)) {
      return callback;
    }
    EndPoint connection = request.getConnectionMetaData().getConnection().getEndPoint();
    Scheduler.Task close =
        request
            .getComponents()
            .getScheduler()
            .schedule(connection::close, SlowHeads.READ_LIMIT.toMillis(), TimeUnit.MILLISECONDS);
    return Callback.from(callback, close::cancel);
  }
}
