// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpHeaderValue;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.BufferUtil;
import org.eclipse.jetty.util.Callback;

/**
 * The connection of a request without a body, before the response begins. Not thread-safe.
 *
 * <p>Jetty does not read from a connection between a request and its response. So Jetty does not
 * detect that the client has closed the connection. {@link #isClosed} reads from the connection to
 * detect this. If the client has already sent its next request, that request is lost. The server
 * then closes the connection after the response.
 */
final class CallerConnection {
  static final String ATTRIBUTE = CallerConnection.class.getName();

  private static final int MAX_READ_BYTES = 1_024;

  private final EndPoint endPoint;
  private final Response response;
  private final ByteBuffer read = BufferUtil.allocate(MAX_READ_BYTES);

  private CallerConnection(EndPoint endPoint, Response response) {
    this.endPoint = endPoint;
    this.response = response;
  }

  /** A handler that attaches the connection to each request. Thread-safe. */
  static final class Attaching extends Handler.Wrapper {
    @Override
    public boolean handle(Request request, Response response, Callback callback) throws Exception {
      EndPoint endPoint = request.getConnectionMetaData().getConnection().getEndPoint();
      request.setAttribute(ATTRIBUTE, new CallerConnection(endPoint, response));
      return super.handle(request, response, callback);
    }
  }

  /**
   * Returns whether the client has closed the connection or the client's sending half. Never
   * blocks.
   */
  boolean isClosed() {
    if (!endPoint.isOpen() || endPoint.isInputShutdown()) {
      return true;
    }
    try {
      BufferUtil.clear(read);
      int bytes = endPoint.fill(read);
      if (bytes > 0) {
        response.getHeaders().put(HttpHeader.CONNECTION, HttpHeaderValue.CLOSE);
      }
      return bytes < 0;
    } catch (IOException reset) {
      return true;
    }
  }
}
