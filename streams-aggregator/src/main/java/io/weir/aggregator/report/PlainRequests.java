// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import java.util.Set;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;

/**
 * A handler that removes the headers of a WebSocket upgrade, because this API does not support
 * WebSocket. If a request had these headers, the servlet would create a session and respond without
 * a problem document.
 */
final class PlainRequests extends Handler.Wrapper {
  private static final Set<String> HIDDEN =
      Set.of("Upgrade", "Sec-WebSocket-Key", "Sec-WebSocket-Version");

  @Override
  public boolean handle(Request request, Response response, Callback callback) throws Exception {
    HttpFields fields = request.getHeaders();
    if (HIDDEN.stream().noneMatch(fields::contains)) {
      return super.handle(request, response, callback);
    }
    HttpFields.Mutable others = HttpFields.build(fields);
    HIDDEN.forEach(others::remove);
    HttpFields shown = others.asImmutable();
    Request.Wrapper plain =
        new Request.Wrapper(request) {
          @Override
          public HttpFields getHeaders() {
            return shown;
          }
        };
    return super.handle(plain, response, callback);
  }
}
