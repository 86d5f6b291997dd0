// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.audit;

import java.net.URI;
import java.net.http.HttpRequest;

/** Creates requests to a deployment. Stateless and thread-safe. */
final class Requests {
  private Requests() {}

  /**
   * Creates the builder of a request.
   *
   * @param token bearer token; empty if the deployment needs no token
   */
  static HttpRequest.Builder to(String url, String token) {
    HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url));
    return token.isEmpty() ? request : request.header("Authorization", "Bearer " + token);
  }
}
