// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.javalin.http.Context;
import io.weir.access.AccessHandler;
import io.weir.access.Grant;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpHeaderValue;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.BufferUtil;
import org.jspecify.annotations.Nullable;

/**
 * The caller of a report. Not thread-safe.
 *
 * @param name identity of the caller for the fair scheduling of reports. It consists of the token's
 *     name and the token's clients
 * @param authorization value of the header {@code Authorization}; null if the request has none
 * @param isForwarded whether another aggregator has forwarded the request. A forwarded request is
 *     not forwarded again
 * @param isGone returns whether the caller has closed the connection; never blocks
 */
record ReportCaller(
    String name, @Nullable String authorization, boolean isForwarded, BooleanSupplier isGone) {
  private static final String CONNECTION = ReportCaller.class.getName();

  private static final int MAX_READ_BYTES = 1_024;

  /** Returns the caller of a request. */
  static ReportCaller of(Context ctx) {
    Grant grant = AccessHandler.grantOf(ctx.req()::getAttribute);
    return new ReportCaller(
        grant.name() + new TreeSet<>(grant.clients()),
        ctx.header("Authorization"),
        ctx.header(PeerReports.FORWARDED_HEADER) != null,
        (BooleanSupplier) Objects.requireNonNull(ctx.req().getAttribute(CONNECTION)));
  }

  /**
   * Attaches the connection to a request, so that {@link #isGone} can read from the connection.
   * {@link #isGone} must be called only for a request without a body, before the response begins.
   *
   * <p>Jetty does not read from a connection between a request and its response. So Jetty does not
   * detect that the client has closed the connection. {@link #isGone} reads from the connection to
   * detect this. If the client has already sent its next request, that request is lost. The server
   * then closes the connection after the response.
   */
  static void attachConnection(Request request, Response response) {
    EndPoint endPoint = request.getConnectionMetaData().getConnection().getEndPoint();
    ByteBuffer read = BufferUtil.allocate(MAX_READ_BYTES);
    BooleanSupplier isClosed = () -> isClosed(endPoint, response, read);
    request.setAttribute(CONNECTION, isClosed);
  }

  /**
   * Returns whether the client has closed the connection or the client's sending half. Never
   * blocks.
   */
  private static boolean isClosed(EndPoint endPoint, Response response, ByteBuffer read) {
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
