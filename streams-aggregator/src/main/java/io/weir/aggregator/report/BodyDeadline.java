// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.access.port.SlowHeads;
import java.util.concurrent.TimeUnit;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.thread.Scheduler;

/**
 * A handler that closes the connection if the response to a request with a body does not follow
 * within {@link SlowHeads#READ_LIMIT}. The response normally follows immediately after the arrival
 * of the body. Thread-safe.
 */
final class BodyDeadline extends Handler.Wrapper {
  @Override
  public boolean handle(Request request, Response response, Callback callback) throws Exception {
    if (request.getLength() <= 0 && !request.getHeaders().contains(HttpHeader.TRANSFER_ENCODING)) {
      return super.handle(request, response, callback);
    }
    EndPoint connection = request.getConnectionMetaData().getConnection().getEndPoint();
    Scheduler.Task close =
        request
            .getComponents()
            .getScheduler()
            .schedule(connection::close, SlowHeads.READ_LIMIT.toMillis(), TimeUnit.MILLISECONDS);
    return super.handle(request, response, Callback.from(callback, close::cancel));
  }
}
