// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import io.javalin.http.Context;
import io.javalin.http.HttpStatus;
import io.javalin.http.MethodNotAllowedResponse;
import java.util.ArrayList;
import java.util.List;

/**
 * Sends the allowed methods of a path in the header field {@code Allow} (RFC 9110 §9.3.7, §10.2.1).
 * A 405 response and the response to OPTIONS have this field. This class sends no CORS fields, so
 * browsers reject requests of other hosts' pages. Stateless and thread-safe.
 */
public final class AllowedMethods {
  private AllowedMethods() {}

  /**
   * Sets the allowed methods of a path if the path does not allow the method of a request.
   *
   * @return true if the request was OPTIONS and the response is complete; false if the caller must
   *     respond with 405
   */
  public static boolean answer(Context context, MethodNotAllowedResponse refused) {
    List<String> methods = new ArrayList<>();
    for (String each : String.join(",", refused.getDetails().values()).split(",", -1)) {
      add(methods, each.strip());
      if (each.strip().equals("GET")) {
        add(methods, "HEAD");
      }
    }
    add(methods, "OPTIONS");
    context.header("Allow", String.join(", ", methods));
    if (!context.req().getMethod().equals("OPTIONS")) {
      return false;
    }
    context.status(HttpStatus.NO_CONTENT).result("");
    return true;
  }

  private static void add(List<String> methods, String method) {
    if (!methods.contains(method)) {
      methods.add(method);
    }
  }
}
